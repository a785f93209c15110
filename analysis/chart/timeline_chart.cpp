#include "timeline_chart.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "../text/escape.h"
#include "../text/units.h"
#include "../text/width.h"

namespace gpushim::analysis {

namespace {

constexpr double kLineRight = 14, kLineTop = 20, kLineRow = 24, kLineBar = 17, kLineBottom = 40;
constexpr double kLineLetter = 6.6;
constexpr double kNearest = 0.3;  // of the drawing's units: what is nearer cannot be seen apart
constexpr double kZoom =
    32;  // of the page's script, at most: what it takes apart is drawn apart if there is room
// What is drawn as one is at most so many times as long as what is near: else all that a stream which is
// never idle ran would be one at once.
constexpr double kLongestOfMany = 8;

// What there is room for beside the bars, and in them.
struct LineRoom {
    Room room;
    double left;
    size_t label_letters, spans, aside;

    double right() const { return room.width - kLineRight; }
    size_t heading_letters() const { return room.letters(1, kLineLetter); }
};
constexpr LineRoom kOnDesk = {kDesk, 116, 15, 1200, 300}, kOnTelephone = {kTelephone, 104, 13, 400, 100};

struct Merged {
    TimelineSpan span;
    size_t first = 0;  // in its row
    size_t count = 1;
    double sum_ns = 0;
};

struct Merging {
    double near_ns;
    bool over_colours;  // what is drawn as one has the colour of the longest in it
};

bool is_one_with(const TimelineSpan& last, const TimelineSpan& span, const Merging& how) {
    if ((!how.over_colours && last.colour != span.colour) || last.is_before != span.is_before) return false;
    if (span.from_ns - last.until_ns >= how.near_ns) return false;
    if (span.until_ns - last.from_ns > kLongestOfMany * how.near_ns) return false;
    return std::min(span.until_ns - span.from_ns, last.until_ns - last.from_ns) < 3 * how.near_ns;
}

std::vector<Merged> merged(const TimelineRow& row, const Merging& how) {
    std::vector<Merged> all;
    double longest_ns = 0;  // of those in the last one
    for (const TimelineSpan& span : row.spans) {
        const double ns = span.until_ns - span.from_ns;
        Merged* const last = all.empty() ? nullptr : &all.back();
        if (last != nullptr && is_one_with(last->span, span, how)) {
            last->span.until_ns = std::max(last->span.until_ns, span.until_ns);
            if (ns > longest_ns) last->span.colour = span.colour;
            longest_ns = std::max(longest_ns, ns);
            ++last->count;
            last->sum_ns += ns;
        } else {
            all.push_back({span, static_cast<size_t>(&span - row.spans.data()), 1, ns});
            longest_ns = ns;
        }
    }
    return all;
}

// How near: as can be seen in a zoomed drawing, or as it takes for a drawing of bearable size.
Merging merging_of(const TimelineChart& timeline, double unit_ns, bool aside, size_t most) {
    const double seen_ns = kNearest * unit_ns;
    for (Merging how = {seen_ns / kZoom, false};; how = {2 * how.near_ns, how.near_ns >= seen_ns}) {
        size_t spans = 0;
        for (const TimelineRow& row : timeline.rows)
            if (row.is_aside == aside) spans += merged(row, how).size();
        if (spans <= most || how.near_ns > timeline.until_ns - timeline.from_ns) return how;
    }
}

std::vector<std::vector<Merged>> merged_rows(const TimelineChart& timeline, double unit_ns,
                                             const LineRoom& room) {
    const Merging how = merging_of(timeline, unit_ns, false, room.spans),
                  aside = merging_of(timeline, unit_ns, true, room.aside);
    std::vector<std::vector<Merged>> rows;
    for (const TimelineRow& row : timeline.rows) rows.push_back(merged(row, row.is_aside ? aside : how));
    return rows;
}

std::string words_of(const Merged& one, double from_ns) {
    const double since_ns = one.span.from_ns - from_ns;
    const std::string when = since_ns < 0 ? ", from " + duration_text(-since_ns) + " before on"
                                          : ", from " + duration_text(since_ns) + " on";
    if (one.count == 1) return one.span.name + ": " + duration_text(one.sum_ns) + when;
    return count_text(static_cast<int64_t>(one.count)) + " beside each other, " + one.span.name +
           " first: " + duration_text(one.sum_ns) + " in all" + when;
}

bool has_in_name(const TimelineSpan& span, const std::string& words) {
    const auto is_same = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
    };
    return std::search(span.name.begin(), span.name.end(), words.begin(), words.end(), is_same) !=
           span.name.end();
}

// Of what is drawn as one: "3 of them relu", for what people are led to.
Markup lines_of_many(const Merged& one, const TimelineRow& row, const std::vector<std::string>& to_find) {
    Markup lines;
    const auto begin = row.spans.begin() + static_cast<ptrdiff_t>(one.first);
    for (const std::string& words : to_find) {
        if (has_in_name(one.span, words)) continue;
        const auto count = std::count_if(begin, begin + static_cast<ptrdiff_t>(one.count),
                                         [&](const TimelineSpan& span) { return has_in_name(span, words); });
        if (count == 0) continue;
        lines += Markup::verbatim("\n");
        lines += count_text(count) + " of them " + words;
    }
    return lines;
}

// A name cannot begin a line: what is not printable in it is escaped.
Markup lines_of(const Merged& one, const TimelineRow& row, const TimelineChart& timeline) {
    Markup lines = words_of(one, timeline.from_ns);
    if (one.count > 1) {
        lines += lines_of_many(one, row, timeline.to_find);
        return lines;
    }
    for (const std::string& line : one.span.details) {
        lines += Markup::verbatim("\n");
        lines += line;
    }
    return lines;
}

std::string class_of(const Merged& one, const TimelineRow& row) {
    if (row.is_outlined) return "idle";
    return fill_class(one.span.colour) + (one.span.is_before ? " before" : "");
}

Markup span_of(const Merged& one, const TimelineRow& row, const TimelineChart& timeline, const Scale& x,
               double top) {
    const double begin = x.place(std::max(one.span.from_ns, timeline.from_ns)),
                 end = x.place(one.span.until_ns);
    Attributes attributes = {{"x", coordinate(begin)},
                             {"y", coordinate(top)},
                             {"width", coordinate(std::max(end - begin, 0.6))},
                             {"height", coordinate(kLineBar)},
                             {"class", class_of(one, row)}};
    if (one.count == 1 && !one.span.more.empty()) attributes.push_back({"data-more", one.span.more});
    Markup all = element("rect", attributes, hint(lines_of(one, row, timeline)));
    const auto letters = static_cast<size_t>(std::max(end - begin - 6, 0.0) / kLineLetter);
    if (one.count == 1 && letters >= 4) {
        const bool is_cut = width_of(one.span.name) > letters;  // what stands for the rest is wide
        const std::string name = shortened(one.span.name, is_cut ? letters - 1 : letters);
        all += label((begin + end) / 2, top + 13, "middle", name, row.is_outlined ? "note" : "inside");
    }
    return all;
}

// What the page's script moves and widens, cut off at its edges.
Markup moving(const Scale& x, double bottom, const Markup& content) {
    const std::string left = coordinate(x.begin), width = coordinate(x.end - x.begin);
    return element("svg",
                   {{"class", "moves"},
                    {"x", left},
                    {"width", width},
                    {"height", coordinate(bottom)},
                    {"viewBox", left + " 0 " + width + " " + coordinate(bottom)},
                    {"data-ns", coordinate(x.high - x.low)},
                    {"data-zoom", coordinate(kZoom)}},
                   content);
}

Markup upright(double at, double top, double bottom, const char* style) {
    return element("line", {{"x1", coordinate(at)},
                            {"x2", coordinate(at)},
                            {"y1", coordinate(top)},
                            {"y2", coordinate(bottom)},
                            {"class", style}});
}

Markup marks_of(const Scale& x, double bottom, const char* since_what, const Room& room) {
    const Scale since = {0, x.high - x.low, x.begin, x.end};
    Markup all;
    MarkLabels labels(room);
    for (const double ns : since.marks(room.marks(7))) {
        all += upright(since.place(ns), kLineTop, bottom, "grid");
        all += labels.add(since.place(ns), bottom + 15, duration_text(ns));
    }
    all += label((x.begin + x.end) / 2, bottom + kLineBottom - 7, "middle", since_what, "axis-label");
    return all;
}

Markup rules_of(const TimelineChart& timeline, const Scale& x, const Room& room) {
    Markup all;
    for (const TimelineChart::Rule& rule : timeline.rules) {
        const double at = x.place(rule.at_ns);
        const size_t behind =
            std::min(rule.row_count, timeline.rows.size() - rule.first_row) + rule.first_row;
        const double top = kLineTop + kLineRow * static_cast<double>(rule.first_row);
        all += upright(at, rule.first_row == 0 ? top - 6 : top,
                       kLineTop + kLineRow * static_cast<double>(behind), "rule");
        if (rule.text.empty()) continue;
        const bool is_right = at > room.width / 2;
        all += label(at + (is_right ? -4 : 4), kLineTop - 8, is_right ? "end" : "start", rule.text, "note");
    }
    return all;
}

Markup row_label(const TimelineRow& row, double top, const LineRoom& room) {
    if (!row.is_heading)
        return label(room.left - 8, top + 13, "end", cut_in_the_middle(row.label, room.label_letters),
                     "name");  // threads of a pool begin alike
    Markup all = element("line", {{"x1", "0"},
                                  {"x2", coordinate(room.right())},
                                  {"y1", coordinate(top + 1)},
                                  {"y2", coordinate(top + 1)},
                                  {"class", "axis"}});
    all += label(0, top + 16, "start", shortened(row.label, room.heading_letters()), "heading");
    return all;
}

// used: the colours that are drawn.
Drawn drawn_in(const LineRoom& room, const TimelineChart& timeline, std::set<size_t>& used) {
    const double bottom = kLineTop + kLineRow * static_cast<double>(timeline.rows.size());
    const double length_ns = std::max(timeline.until_ns - timeline.from_ns, 1.0);
    const Scale x = {timeline.from_ns, timeline.from_ns + length_ns, room.left, room.right()};
    Markup all = marks_of(x, bottom, timeline.since, room.room), bars;
    const auto rows = merged_rows(timeline, length_ns / (x.end - x.begin), room);
    for (size_t i = 0; i < rows.size(); ++i) {
        const double top = kLineTop + kLineRow * static_cast<double>(i);
        all += row_label(timeline.rows[i], top, room);
        for (const Merged& one : rows[i]) {
            bars += span_of(one, timeline.rows[i], timeline, x, top);
            if (!timeline.rows[i].is_outlined) used.insert(one.span.colour);
        }
    }
    bars += rules_of(timeline, x, room.room);
    all += moving(x, bottom, bars);
    return {bottom + kLineBottom, all};
}

}  // namespace

Markup timeline_chart(const TimelineChart& timeline) {
    std::set<size_t> used;
    Markup made = drawing(timeline.words, [&](const Room& room) {
        return drawn_in(room.width < kDesk.width ? kOnTelephone : kOnDesk, timeline, used);
    });
    std::vector<LegendEntry> there;
    for (const LegendEntry& entry : timeline.colours)
        if (used.contains(entry.colour)) there.push_back(entry);
    made += legend(there);
    return made;
}

}  // namespace gpushim::analysis
