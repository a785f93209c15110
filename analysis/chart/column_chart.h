// What something was made of as it went on: a column of parts for each step, say. A column says all of its
// parts when pointed at; where nothing is known there is no column. The drawing's size depends on the number
// of columns, not on what they hold.
#pragma once

#include <string>
#include <vector>

#include "frame.h"

namespace gpushim::analysis {

struct ColumnChart {
    struct Column {
        std::string label;           // "step 7"
        double from, until;          // on the axis x; columns do not overlap
        std::vector<double> values;  // one for each part; 0: it has none of it
    };
    ChartWords words;
    Axis x, y;                       // y always with 0
    std::vector<LegendEntry> parts;  // from the ground up
    std::vector<Column> columns;
    double most = 0;  // of y, at least: several drawings with the same scale can be compared
    double height = 160;
};

Markup column_chart(const ColumnChart& chart);  // without a legend
// One for several that have the same parts: those that are 0 in all of them are left out.
Markup legend_of(const std::vector<ColumnChart>& charts);

}  // namespace gpushim::analysis
