#include "frame.h"

#include <algorithm>
#include <cmath>

#include "../text/width.h"

namespace gpushim::analysis {

namespace {

constexpr double kLeft = 74, kRight = 14, kTop = 10, kBottom = 40;
constexpr double kBetweenMarks = 4;
constexpr double kMarkLetter = 7.4;  // at most as wide as a letter of a mark is

Markup rule(double x1, double y1, double x2, double y2, const char* style) {
    return element("line", {{"x1", coordinate(x1)},
                            {"y1", coordinate(y1)},
                            {"x2", coordinate(x2)},
                            {"y2", coordinate(y2)},
                            {"class", style}});
}

Markup svg_of(const ChartWords& words, const std::string& id, const Room& room, const Drawn& drawn) {
    Markup all = element("title", {{"id", id + "-title"}}, words.title);
    all += element("desc", {{"id", id + "-desc"}}, words.description);
    all += drawn.content;
    return element("svg",
                   {{"viewBox", "0 0 " + coordinate(room.width) + " " + coordinate(drawn.height)},
                    {"role", "img"},
                    {"aria-labelledby", id + "-title " + id + "-desc"}},
                   all);
}

// Where there is less room than it needs to be read, it is moved below its window: by keys, too.
Markup window(const ChartWords& words, const Markup& drawn, const char* style) {
    return element(
        "div", {{"class", style}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", words.title}}, drawn);
}

}  // namespace

size_t Room::marks(size_t on_a_desk) const {
    const double share = width / kDesk.width;
    return std::max<size_t>(static_cast<size_t>(std::ceil(static_cast<double>(on_a_desk) * share)), 2);
}
size_t Room::letters(double most_of_it, double width_of_one) const {
    return static_cast<size_t>(width * most_of_it / width_of_one);
}

std::string fill_class(size_t colour) { return "f" + std::to_string(colour % kColours); }
std::string line_class(size_t colour) { return "s" + std::to_string(colour % kColours); }

Markup drawing(const ChartWords& words, const std::function<Drawn(const Room&)>& draw) {
    Markup both = window(words, svg_of(words, words.id, kDesk, draw(kDesk)), "chart desk");
    const std::string id = words.id + "-telephone";
    both += element("div", {{"class", "chart telephone"}}, svg_of(words, id, kTelephone, draw(kTelephone)));
    return both;
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

Markup hint(const Markup& text) { return element("title", {}, text); }

Markup MarkLabels::add(double x, double y, const std::string& text) {
    const double half = kMarkLetter * static_cast<double>(width_of(text)) / 2;
    const double middle = std::min(x, most_ - half);
    if (middle - half < free_from_) return {};
    free_from_ = middle + half + kBetweenMarks;
    return label(middle, y, "middle", text);
}

Frame::Frame(const Room& of_room, const Axis& of_x, Extent values_x, const Axis& of_y, Extent values_y,
             double of_height)
    : room(of_room),
      x(scale_of(values_x, kLeft, of_room.width - kRight, of_x.with_zero, of_x.logarithmic)),
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
    MarkLabels labels(room);
    for (const double value : x.marks(x.logarithmic ? 8 : room.marks(8))) {
        const double at = x.place(value);
        all += rule(at, y.begin, at, y.begin + 4, "axis");
        all += labels.add(at, y.begin + 17, of_x.text(value));
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
