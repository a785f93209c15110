#include "heat_map.h"

#include <algorithm>
#include <cmath>

#include "../text/escape.h"

namespace gpushim::analysis {

namespace {

constexpr double kMapRight = 14, kMapTop = 4, kMapBottom = 38;
constexpr double kTallest = 22, kAllRows = 480;  // of a row; of all of them, where they are many
constexpr double kMapLetter = 7.4;               // of names, which are in all kinds of letters
constexpr double kMapMostForLabels = 0.3;        // of a drawing's width, beside some room
constexpr size_t kMapLongestLabel = 17;

struct Grid {
    double left, top, width, height;  // width and height: of a cell
    std::vector<double> floors;       // of the levels

    size_t level_of(double value) const {
        const auto above = std::upper_bound(floors.begin(), floors.end(), value);
        return above == floors.begin() ? 0 : static_cast<size_t>(above - floors.begin()) - 1;
    }
};

size_t longest_row_label(const Room& room) {
    return std::min(kMapLongestLabel, room.letters(kMapMostForLabels, kMapLetter));
}

double left_of(const Room& room) {
    return std::ceil(kMapLetter * static_cast<double>(longest_row_label(room)) + 8);
}

Grid grid_of(const HeatMap& map, const Room& room) {
    Extent extent;
    for (const HeatMap::Row& row : map.rows)
        for (const double value : row.values) extent.take(value);
    if (extent.is_empty()) extent = {0, 1};
    Grid grid = {left_of(room),
                 kMapTop,
                 (room.width - left_of(room) - kMapRight) /
                     static_cast<double>(std::max<size_t>(map.columns.size(), 1)),
                 std::min(kTallest, kAllRows / static_cast<double>(std::max<size_t>(map.rows.size(), 1))),
                 {}};
    const size_t levels = extent.high > extent.low ? kHeatLevels : 1;
    for (size_t i = 0; i < levels; ++i)
        grid.floors.push_back(extent.low + (extent.high - extent.low) * static_cast<double>(i) /
                                               static_cast<double>(levels));
    return grid;
}

// Cells of one level that are beside each other are one line, as wide as they are high.
void add_cells(const Grid& grid, const HeatMap::Row& row, size_t nth, std::vector<std::string>& paths) {
    const std::string y = coordinate(grid.top + grid.height * (static_cast<double>(nth) + 0.5));
    for (size_t from = 0; from < row.values.size();) {
        if (!std::isfinite(row.values[from])) {
            ++from;
            continue;
        }
        const size_t level = grid.level_of(row.values[from]);
        size_t to = from + 1;
        while (to < row.values.size() && std::isfinite(row.values[to]) &&
               grid.level_of(row.values[to]) == level)
            ++to;
        paths[level] += "M" + coordinate(grid.left + grid.width * static_cast<double>(from)) + " " + y + "h" +
                        coordinate(grid.width * static_cast<double>(to - from));
        from = to;
    }
}

Markup labels_of(const HeatMap& map, const Grid& grid, const Room& room) {
    Markup all;
    const auto rows = static_cast<double>(map.rows.size());
    const auto every = static_cast<size_t>(std::ceil(13 / grid.height));
    for (size_t i = 0; i < map.rows.size(); ++i) {
        const double top = grid.top + grid.height * static_cast<double>(i);
        if (i % every == 0)
            all += label(grid.left - 8, top + std::min(grid.height, 14.0) / 2 + 4, "end",
                         cut_in_the_middle(map.rows[i].label, longest_row_label(room)), "name");
        all += element("rect",
                       {{"x", coordinate(grid.left)},
                        {"y", coordinate(top)},
                        {"width", coordinate(room.width - kMapRight - grid.left)},
                        {"height", coordinate(grid.height)},
                        {"class", "over"}},
                       hint(map.rows[i].hint));
    }
    const double bottom = grid.top + grid.height * rows;
    MarkLabels labels(room);
    for (size_t i = 0; i < map.columns.size(); ++i)
        all +=
            labels.add(grid.left + grid.width * (static_cast<double>(i) + 0.5), bottom + 15, map.columns[i]);
    all += label((grid.left + room.width) / 2, bottom + kMapBottom - 6, "middle", map.column_label,
                 "axis-label");
    return all;
}

std::string level_class(size_t level, size_t levels) {
    return "h" + std::to_string(levels == 1 ? kHeatLevels / 2 : level);
}

Markup levels_of(const HeatMap& map, const Grid& grid) {
    Markup items;
    for (size_t i = 0; i < grid.floors.size(); ++i) {
        Markup item = element("svg", {{"viewBox", "0 0 12 12"}, {"aria-hidden", "true"}},
                              element("rect", {{"width", "12"},
                                               {"height", "12"},
                                               {"class", "level " + level_class(i, grid.floors.size())}}));
        item += (i == 0 ? "" : "from ") + map.text(grid.floors[i]);
        items += element("li", {}, item);
    }
    return element("ul", {{"class", "legend"}}, items);
}

}  // namespace

Markup heat_map(const HeatMap& map) {
    Markup made = drawing(map.words, [&](const Room& room) {
        const Grid grid = grid_of(map, room);
        const double height = grid.top + grid.height * static_cast<double>(map.rows.size()) + kMapBottom;
        Markup all = element("rect", {{"x", coordinate(grid.left)},
                                      {"y", coordinate(grid.top)},
                                      {"width", coordinate(room.width - kMapRight - grid.left)},
                                      {"height", coordinate(height - kMapBottom - grid.top)},
                                      {"class", "lane"}});
        std::vector<std::string> paths(kHeatLevels);
        for (size_t i = 0; i < map.rows.size(); ++i) add_cells(grid, map.rows[i], i, paths);
        for (size_t i = 0; i < paths.size(); ++i)
            if (!paths[i].empty())
                all += element("path", {{"d", paths[i]},
                                        {"class", "cells " + level_class(i, grid.floors.size())},
                                        {"stroke-width", coordinate(grid.height)}});
        all += labels_of(map, grid, room);
        return Drawn{height, all};
    });
    made += levels_of(map, grid_of(map, kDesk));
    return made;
}

}  // namespace gpushim::analysis
