// What happened when: rows of spans over one axis of time. Spans of a row and a colour that are too near to
// each other to be seen apart are drawn as one, which says how many they are; so a drawing has at most some
// thousand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frame.h"

namespace gpushim::analysis {

struct TimelineSpan {
    double from_ns, until_ns;
    size_t colour;
    std::string name;
    std::vector<std::string> details = {};  // what a click tells beside its name and when it was, a line each
    bool is_before = false;                 // left over from before: paler
    std::string more = {};  // the id of what has more: the page's script adds its text to the details
};

struct TimelineRow {
    std::string label;
    std::vector<TimelineSpan> spans;  // by from_ns
    bool is_outlined = false;         // spans in which nothing ran
    bool is_heading = false;          // of the rows below, as wide as the drawing; it has no spans
    bool is_aside = false;            // too many spans of it make only these rows coarser
};

struct TimelineChart {
    ChartWords words;
    double from_ns, until_ns;
    std::vector<LegendEntry> colours;  // what each means
    std::vector<TimelineRow> rows;
    struct Rule {
        double at_ns;
        std::string text = {};
        size_t first_row = 0, row_count = SIZE_MAX;  // that it goes through; all, if nothing else is said
    };
    std::vector<Rule> rules;
    // What people are led to: what is drawn as one says how many in it have this in their name.
    std::vector<std::string> to_find = {};
    const char* since = "since the step began";  // what the axis counts from
};

Markup timeline_chart(const TimelineChart& timeline);  // with its legend

}  // namespace gpushim::analysis
