// How often something was how large: upright bars beside each other, as wide as the range each is of.
#pragma once

#include <string>
#include <vector>

#include "frame.h"

namespace gpushim::analysis {

struct BarChart {
    struct Bar {
        double low, high;  // along x
        double value;
    };
    ChartWords words;
    Axis x, y;
    std::vector<Bar> bars;
    size_t colour = 0;
    double height = 200;
};

Markup bar_chart(const BarChart& chart);

}  // namespace gpushim::analysis
