// What happened when: rows of spans over one axis of time. Spans of a row and a colour that are too near to
// each other to be seen apart are drawn as one, which says how many they are; so a drawing has at most some
// thousand.
#pragma once

#include <string>
#include <vector>

#include "frame.h"

namespace gpushim::analysis {

struct TimelineSpan {
    double from_ns, until_ns;
    size_t colour;
    std::string name;
};

struct TimelineRow {
    std::string label;
    std::vector<TimelineSpan> spans;  // by from_ns
    bool is_outlined = false;         // spans in which nothing ran
};

struct TimelineChart {
    ChartWords words;
    double from_ns, until_ns;
    std::vector<LegendEntry> colours;  // what each means
    std::vector<TimelineRow> rows;
    struct Rule {
        double at_ns;
        std::string text;
    };
    std::vector<Rule> rules;
};

Markup timeline_chart(const TimelineChart& timeline);  // with its legend

}  // namespace gpushim::analysis
