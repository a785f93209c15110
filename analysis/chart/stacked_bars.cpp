#include "stacked_bars.h"

#include <algorithm>
#include <numeric>

#include "../text/escape.h"

namespace gpushim::analysis {

namespace {

constexpr double kNameRow = 16, kStackRight = 16, kStackTop = 6, kStackRow = 26, kStackBar = 18,
                 kStackBottom = 40;
constexpr double kLabelLetter = 8.1;  // of names, which are in all kinds of letters
constexpr double kStackLetter = 6.6;  // about as wide as a letter is
constexpr size_t kShortestLabel = 15, kStackLongestLabel = 34;
constexpr double kMostForLabels = 0.4;  // of a drawing's width

double sum_of(const StackedBars::Bar& bar) {
    return std::accumulate(bar.values.begin(), bar.values.end(), 0.0);
}

double room_for_notes(const StackedBars& chart) {
    size_t most = 0;
    for (const StackedBars::Bar& bar : chart.bars) most = std::max(most, width_of(bar.note));
    return most == 0 ? 0 : 8 + kStackLetter * static_cast<double>(most);
}

// Names stand beside their bars, and above them where they would be cut to have room there.
struct Names {
    bool are_above;
    size_t letters;  // at most

    double row() const { return are_above ? kStackRow + kNameRow : kStackRow; }
    double bar() const { return are_above ? kNameRow : 0; }
};

size_t longest_label(const StackedBars& chart) {
    size_t most = kShortestLabel;
    for (const StackedBars::Bar& bar : chart.bars) most = std::max(most, width_of(bar.label));
    return std::min(most, kStackLongestLabel);
}

Names names_of(const StackedBars& chart, const Room& room) {
    const size_t longest = longest_label(chart);
    return {longest > room.letters(kMostForLabels, kLabelLetter), longest};
}

double left_of(const Names& names) {
    return names.are_above ? kStackRight : 20 + kLabelLetter * static_cast<double>(names.letters);
}

Markup name_of(const StackedBars::Bar& bar, const Names& names, const Scale& x, double top) {
    const std::string name = cut_in_the_middle(bar.label, names.letters);
    return names.are_above ? label(x.begin, top + 12, "start", name, "name")
                           : label(x.begin - 8, top + 13, "end", name, "name");
}

Markup bar_of(const StackedBars& chart, const StackedBars::Bar& bar, const Scale& x, double top) {
    Markup all;
    double sum = 0;
    for (size_t i = 0; i < bar.values.size() && i < chart.parts.size(); ++i) {
        if (!(bar.values[i] > 0)) continue;
        const double from = x.place(sum), to = x.place(sum += bar.values[i]);
        const std::string amount = chart.x.text(bar.values[i]);
        all += element("rect",
                       {{"x", coordinate(from)},
                        {"y", coordinate(top)},
                        {"width", coordinate(to - from)},
                        {"height", coordinate(kStackBar)},
                        {"class", "part " + fill_class(chart.parts[i].colour)}},
                       hint(bar.label + ": " + chart.parts[i].name + " " + amount));
        const std::string words = chart.parts[i].name + " " + amount;
        const auto fits = [&](const std::string& text) {
            return kStackLetter * static_cast<double>(width_of(text)) + 8 < to - from;
        };
        if (fits(words) || fits(amount))
            all += label((from + to) / 2, top + 13, "middle", fits(words) ? words : amount, "inside");
        else if (bar.note.empty() && bar.values[i] == sum_of(bar))  // it is all of the bar: there is room
            all += label(to + 6, top + 13, "start", amount, "note");
    }
    if (!bar.note.empty()) all += label(x.place(sum) + 6, top + 13, "start", bar.note, "note");
    return all;
}

}  // namespace

Markup stacked_bars(const StackedBars& chart) {
    Extent sums;
    for (const StackedBars::Bar& bar : chart.bars) sums.take(sum_of(bar));
    Markup made = drawing(chart.words, [&](const Room& room) {
        const Names names = names_of(chart, room);
        const double bottom = kStackTop + names.row() * static_cast<double>(chart.bars.size());
        const Scale x =
            scale_of(sums, left_of(names), room.width - kStackRight - room_for_notes(chart), true, false);
        Markup all;
        MarkLabels labels(room);
        for (const double value : x.marks(room.marks(6))) {
            const double at = x.place(value);
            all += element("line", {{"x1", coordinate(at)},
                                    {"x2", coordinate(at)},
                                    {"y1", coordinate(kStackTop)},
                                    {"y2", coordinate(bottom)},
                                    {"class", "grid"}});
            all += labels.add(at, bottom + 14, chart.x.text(value));
        }
        for (size_t i = 0; i < chart.bars.size(); ++i) {
            const double top = kStackTop + names.row() * static_cast<double>(i);
            all += name_of(chart.bars[i], names, x, top);
            all += bar_of(chart, chart.bars[i], x, top + names.bar());
        }
        all += label((x.begin + x.end) / 2, bottom + kStackBottom - 8, "middle", chart.x.label, "axis-label");
        return Drawn{bottom + kStackBottom, all};
    });
    std::vector<LegendEntry> there;
    for (size_t i = 0; i < chart.parts.size(); ++i)
        if (std::any_of(chart.bars.begin(), chart.bars.end(), [&](const StackedBars::Bar& bar) {
                return i < bar.values.size() && bar.values[i] > 0;
            }))
            there.push_back(chart.parts[i]);
    made += legend(there);
    return made;
}

}  // namespace gpushim::analysis
