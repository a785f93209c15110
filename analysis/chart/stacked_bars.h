// What something is made of, for several things below each other: a bar of parts for each. A part that has
// the room says how much it is, and each says it when pointed at.
#pragma once

#include <string>
#include <vector>

#include "frame.h"

namespace gpushim::analysis {

struct StackedBars {
    struct Bar {
        std::string label;
        std::vector<double> values;  // one for each part; 0: it has none of it
        std::string note = "";       // behind the bar
    };
    ChartWords words;
    Axis x;  // always with 0
    std::vector<LegendEntry> parts;
    std::vector<Bar> bars;
};

Markup stacked_bars(const StackedBars& chart);  // with its legend: parts that are all 0 are left out

}  // namespace gpushim::analysis
