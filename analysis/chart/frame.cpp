#include "frame.h"

#include <algorithm>

#include "../text/width.h"

namespace gpushim::analysis {

namespace {

constexpr double kLeft = 74, kRight = 14, kTop = 10, kBottom = 40;
constexpr double kMarkLetter = 7.4;  // at most as wide as a letter of a mark is

Markup rule(double x1, double y1, double x2, double y2, const char* style) {
    return element("line", {{"x1", coordinate(x1)},
                            {"y1", coordinate(y1)},
                            {"x2", coordinate(x2)},
                            {"y2", coordinate(y2)},
                            {"class", style}});
}

}  // namespace

std::string fill_class(size_t colour) { return "f" + std::to_string(colour % kColours); }
std::string line_class(size_t colour) { return "s" + std::to_string(colour % kColours); }

Markup drawing(const ChartWords& words, double height, const Markup& content) {
    Markup all = element("title", {{"id", words.id + "-title"}}, words.title);
    all += element("desc", {{"id", words.id + "-desc"}}, words.description);
    all += content;
    const Markup svg = element("svg",
                               {{"viewBox", "0 0 " + coordinate(kChartWidth) + " " + coordinate(height)},
                                {"role", "img"},
                                {"aria-labelledby", words.id + "-title " + words.id + "-desc"}},
                               all);
    // Where there is less room than it needs to be read, it is moved below its window: by keys, too.
    return element(
        "div", {{"class", "chart"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", words.title}}, svg);
}

Markup legend(const std::vector<LegendEntry>& entries) {
    Markup items;
    for (const LegendEntry& entry : entries) {
        const Markup swatch = element(
            "svg", {{"viewBox", "0 0 12 12"}, {"aria-hidden", "true"}},
            element("rect",
                    {{"width", "12"}, {"height", "12"}, {"rx", "2"}, {"class", fill_class(entry.colour)}}));
        Markup item = swatch;
        item += entry.name;
        items += element("li", {}, item);
    }
    return element("ul", {{"class", "legend"}}, items);
}

Markup figure(const ChartWords& words, const Markup& drawn, const Markup& below) {
    Markup all = element("figcaption", {}, words.title);
    all += drawn;
    all += below;
    return element("figure", {{"id", words.id}}, all);
}

Markup folded(const std::string& summary, const Markup& content) {
    Markup all = element("summary", {}, summary);
    all += content;
    return element("details", {}, all);
}

Markup label(double x, double y, const char* anchor, const std::string& text, const char* style) {
    return element("text",
                   {{"x", coordinate(x)}, {"y", coordinate(y)}, {"text-anchor", anchor}, {"class", style}},
                   text);
}

Markup mark_label(double x, double y, const std::string& text) {
    const double half = kMarkLetter * static_cast<double>(width_of(text)) / 2;
    return label(std::min(x, kChartWidth - half), y, "middle", text);
}

Markup hint(const Markup& text) { return element("title", {}, text); }

Frame::Frame(const Axis& of_x, Extent values_x, const Axis& of_y, Extent values_y, double of_height)
    : x(scale_of(values_x, kLeft, kChartWidth - kRight, of_x.with_zero, of_x.logarithmic)),
      y(scale_of(values_y, of_height - kBottom, kTop, of_y.with_zero, of_y.logarithmic)),
      height(of_height) {
    x.binary = of_x.binary;
    y.binary = of_y.binary;
    x.whole = of_x.whole;
    y.whole = of_y.whole;
}

Markup Frame::axes(const Axis& of_x, const Axis& of_y) const {
    Markup all;
    for (const double value : y.marks(5)) {
        const double at = y.place(value);
        all += rule(x.begin, at, x.end, at, "grid");
        all += label(x.begin - 6, at + 4, "end", of_y.text(value));
    }
    for (const double value : x.marks(8)) {
        const double at = x.place(value);
        all += rule(at, y.begin, at, y.begin + 4, "axis");
        all += mark_label(at, y.begin + 17, of_x.text(value));
    }
    all += rule(x.begin, y.begin, x.end, y.begin, "axis");
    all += label((x.begin + x.end) / 2, height - 6, "middle", of_x.label, "axis-label");
    if (!of_y.label.empty())
        all += element("text",
                       {{"transform", "translate(12 " + coordinate((y.begin + y.end) / 2) + ") rotate(-90)"},
                        {"text-anchor", "middle"},
                        {"class", "axis-label"}},
                       of_y.label);
    return all;
}

}  // namespace gpushim::analysis
