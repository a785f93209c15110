// How large something was for several things over several others, as shades of one colour in eight levels.
// Cells of a level are one path, so a map of 64 by 160 cells takes tens of kilobytes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frame.h"

namespace gpushim::analysis {

constexpr size_t kHeatLevels = 8;

struct HeatMap {
    struct Row {
        std::string label, hint;
        std::vector<double> values;  // one for each column; kUnknown: nothing is drawn
    };
    ChartWords words;
    std::string column_label;
    std::vector<std::string> columns;
    std::vector<Row> rows;
    std::function<std::string(double)> text;
};

Markup heat_map(const HeatMap& map);  // with what its levels mean

}  // namespace gpushim::analysis
