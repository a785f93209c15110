// What all drawings have: a name, a description for who cannot see it, axes, a legend; and what stands around
// them on the page.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "markup.h"
#include "scale.h"

namespace gpushim::analysis {

constexpr double kChartWidth = 760;  // in the drawing's own units; on the page it is as wide as there is room
constexpr size_t kColours = 14;      // of the style sheet: classes f0 … f13 (filled), s0 … s13 (lines)

struct ChartWords {
    std::string id;           // letters, digits and '-'; no other drawing of the page has it
    std::string title;        // what it shows
    std::string description;  // what there is to be seen in it, in a sentence
};

struct Axis {
    std::string label;
    std::function<std::string(double)> text;  // of a mark
    bool logarithmic = false;
    bool with_zero = false;
    bool binary = false;  // marks are multiples of powers of two
    bool whole = false;   // marks are whole numbers: of steps, say
};

struct LegendEntry {
    std::string name;
    size_t colour;
};

std::string fill_class(size_t colour);
std::string line_class(size_t colour);

Markup drawing(const ChartWords& words, double height, const Markup& content);
Markup legend(const std::vector<LegendEntry>& entries);

// The drawing with its title above and, below, what belongs to it: the same as a table, say.
Markup figure(const ChartWords& words, const Markup& drawn, const Markup& below = {});
Markup folded(const std::string& summary, const Markup& content);  // opened by a click, with scripts off, too

// At (x, y); anchor: start, middle, end.
Markup label(double x, double y, const char* anchor, const std::string& text, const char* style = "tick");
// Centred on its mark, moved left where the drawing's right edge would cut it off.
Markup mark_label(double x, double y, const std::string& text);
Markup hint(const Markup& text);  // shown over what it is in

struct Frame {
    Scale x, y;
    double height;

    Frame(const Axis& of_x, Extent values_x, const Axis& of_y, Extent values_y, double height);
    Markup axes(const Axis& of_x, const Axis& of_y) const;
};

}  // namespace gpushim::analysis
