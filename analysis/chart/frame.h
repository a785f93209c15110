// What all drawings have: a name, a description for who cannot see it, axes, a legend; and what stands around
// them on the page.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "markup.h"
#include "scale.h"

namespace gpushim::analysis {

constexpr size_t kColours = 14;  // of the style sheet: classes f0 … f13 (filled), s0 … s13 (lines)

// What a drawing has room for, in its own units: on a desk, and on a telephone that is held upright, where
// they are pixels.
struct Room {
    double width;

    size_t marks(size_t on_a_desk) const;  // of an axis
    size_t letters(double most_of_it, double width_of_one) const;
};
constexpr Room kDesk = {760}, kTelephone = {340};

struct Drawn {
    double height;
    Markup content;
};

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

// For both rooms; the style sheet shows one of them.
Markup drawing(const ChartWords& words, const std::function<Drawn(const Room&)>& draw);
Markup legend(const std::vector<LegendEntry>& entries);

// The drawing with its title above and, below, what belongs to it: the same as a table, say.
Markup figure(const ChartWords& words, const Markup& drawn, const Markup& below = {});
Markup folded(const std::string& summary, const Markup& content);  // opened by a click, with scripts off, too

// At (x, y); anchor: start, middle, end.
Markup label(double x, double y, const char* anchor, const std::string& text, const char* style = "tick");
Markup hint(const Markup& text);  // shown over what it is in
// What stands below the marks of an axis, from left to right: each centred, moved left where the drawing's
// right edge would cut it off, and left out where there is no room beside the one before.
class MarkLabels {
  public:
    explicit MarkLabels(const Room& room) : most_(room.width) {}
    Markup add(double x, double y, const std::string& text);

  private:
    double most_, free_from_ = 0;
};

struct Frame {
    Room room;
    Scale x, y;
    double height;

    Frame(const Room& room, const Axis& of_x, Extent values_x, const Axis& of_y, Extent values_y,
          double height);
    Markup axes(const Axis& of_x, const Axis& of_y) const;
};

}  // namespace gpushim::analysis
