// What tests of drawings ask of their markup.
#pragma once

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "analysis/chart/frame.h"
#include "analysis/text/units.h"

namespace drawn {

using namespace gpushim::analysis;

inline constexpr const char* kNasty = "<img src=x onerror='alert(1)'>&\"\x1b[2J";

inline size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

// Without what is drawn once more, for a telephone.
inline std::string on_desk(const Markup& drawn) {
    std::string html = drawn.html();
    const size_t from = html.find("<div class=\"chart telephone\">");
    REQUIRE(from != std::string::npos);
    return html.erase(from, html.find("</div>", from) + 6 - from);
}

inline Axis axis(const char* words) { return {words, duration_text}; }

struct Rect {
    double x = 0, y = 0, width = 0, height = 0;
};

// The bars that are drawn: what has the class `part`.
inline std::vector<Rect> parts_of(const std::string& drawn) {
    std::vector<Rect> all;
    for (size_t at = 0; (at = drawn.find("<rect x=", at)) != std::string::npos; ++at) {
        Rect rect;
        int end = 0;
        std::sscanf(drawn.c_str() + at,
                    "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\" class=\"part %n", &rect.x,
                    &rect.y, &rect.width, &rect.height, &end);
        if (end > 0) all.push_back(rect);
    }
    return all;
}

// x and y of each point of the path with that class.
inline std::vector<std::pair<double, double>> points_of(const std::string& drawn,
                                                        const std::string& its_class) {
    const size_t end = drawn.find("\" class=\"" + its_class), from = drawn.rfind("d=\"", end) + 3;
    std::vector<std::pair<double, double>> all;
    for (size_t at = from; at < end; at = drawn.find_first_of("ML", at + 1)) {
        double x = 0, y = 0;
        if (std::sscanf(drawn.c_str() + at + 1, "%lf %lf", &x, &y) == 2) all.emplace_back(x, y);
    }
    return all;
}

}  // namespace drawn
