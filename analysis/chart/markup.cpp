#include "markup.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../text/escape.h"

namespace gpushim::analysis {

namespace {

// Those of HTML that have no end, and those of SVG that we leave empty.
constexpr std::string_view kEmpty[] = {"br", "circle", "input", "line", "meta", "path", "rect"};

}  // namespace

Markup::Markup(std::string_view text) : html_(for_html(text)) {}

Markup Markup::verbatim(std::string_view compiled_in) {
    Markup markup;
    markup.html_ = compiled_in;
    return markup;
}

Markup element(const char* name, const Attributes& attributes, const Markup& content) {
    Markup made;
    made.html_ = std::string("<") + name;
    for (const Attribute& attribute : attributes)
        made.html_ += std::string(" ") + attribute.name + "=\"" + for_html(attribute.value) + "\"";
    if (content.empty() && std::find(std::begin(kEmpty), std::end(kEmpty), name) != std::end(kEmpty)) {
        made.html_ += "/>";
        return made;
    }
    made.html_ += ">" + content.html_ + "</" + name + ">";
    return made;
}

std::string coordinate(double value) {
    const double rounded = std::round(value * 100) / 100;
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", rounded == 0 ? 0 : rounded);
    std::string shorter = text;
    shorter.erase(shorter.find_last_not_of('0') + 1);
    if (shorter.ends_with('.')) shorter.pop_back();
    return shorter;
}

}  // namespace gpushim::analysis
