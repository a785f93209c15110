// Values over something that goes on: steps, seconds, nights. Points that are marked have a shape of their
// own, so they are told apart without colours, too.
#pragma once

#include <string>
#include <vector>

#include "frame.h"

namespace gpushim::analysis {

struct LinePoint {
    double x, y;                             // y kUnknown: the line is interrupted
    double low = kUnknown, high = kUnknown;  // a range around it: all points of a series have one, or none
    std::string hint = "";                   // shown over it; then it has a dot
    bool is_marked = false;
};

struct LineSeries {
    std::string name;
    size_t colour;
    std::vector<LinePoint> points;  // by x
    bool has_line = true;           // false: dots only
};

struct LineChart {
    ChartWords words;
    Axis x, y;
    std::vector<LineSeries> series;
    struct Rule {
        double x;
        std::string text;
    };
    std::vector<Rule> rules;  // lines from top to bottom, with a word
    double height = 240;
};

Markup line_chart(const LineChart& chart);  // with its legend, where there are several series

}  // namespace gpushim::analysis
