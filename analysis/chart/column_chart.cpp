#include "column_chart.h"

#include <algorithm>
#include <numeric>

namespace gpushim::analysis {

namespace {

constexpr double kGapShare = 0.12;  // of a column's room: between two of them

double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

struct Place {
    double left, width;
};

Place place_of(const ColumnChart::Column& column, const Scale& x) {
    const double from = x.place(column.from), room = x.place(column.until) - from;
    return {from + room * kGapShare / 2, room * (1 - kGapShare)};
}

// All rectangles of a part are one path: of many columns there are no more elements than of few.
std::string path_of(const ColumnChart& chart, const Frame& frame, size_t part) {
    std::string path;
    for (const ColumnChart::Column& column : chart.columns) {
        if (part >= column.values.size() || !(column.values[part] > 0)) continue;
        const Place place = place_of(column, frame.x);
        const auto end = column.values.begin() + static_cast<std::ptrdiff_t>(part);
        const double below = std::accumulate(column.values.begin(), end, 0.0);
        const double bottom = frame.y.place(below), top = frame.y.place(below + column.values[part]);
        path += "M" + coordinate(place.left) + " " + coordinate(bottom) + "V" + coordinate(top) + "h" +
                coordinate(place.width) + "V" + coordinate(bottom) + "z";
    }
    return path;
}

std::string words_of(const ColumnChart& chart, const ColumnChart::Column& column) {
    std::string words = column.label + ": " + chart.y.text(sum_of(column.values));
    const char* before = ": ";
    for (size_t i = 0; i < chart.parts.size() && i < column.values.size(); ++i)
        if (column.values[i] > 0) {
            words += before + chart.parts[i].name + " " + chart.y.text(column.values[i]);
            before = ", ";
        }
    return words;
}

bool has_part(const ColumnChart& chart, size_t part) {
    return std::any_of(chart.columns.begin(), chart.columns.end(), [&](const auto& column) {
        return part < column.values.size() && column.values[part] > 0;
    });
}

Markup hints_of(const ColumnChart& chart, const Frame& frame) {
    Markup all;
    for (const ColumnChart::Column& column : chart.columns) {
        const double left = frame.x.place(column.from), top = frame.y.place(frame.y.high);
        all += element("rect",
                       {{"x", coordinate(left)},
                        {"y", coordinate(top)},
                        {"width", coordinate(frame.x.place(column.until) - left)},
                        {"height", coordinate(frame.y.begin - top)},
                        {"class", "over"}},
                       hint(words_of(chart, column)));
    }
    return all;
}

}  // namespace

Markup column_chart(const ColumnChart& chart) {
    Extent x, y;
    y.take(chart.most);
    for (const ColumnChart::Column& column : chart.columns) {
        x.take(column.from);
        x.take(column.until);
        y.take(sum_of(column.values));
    }
    Axis of_y = chart.y;
    of_y.with_zero = true;
    return drawing(chart.words, [&](const Room& room) {
        Frame frame(room, chart.x, x, of_y, y, chart.height);
        if (!x.is_empty()) frame.x.low = x.low, frame.x.high = x.high;
        Markup all = frame.axes(chart.x, of_y);
        for (size_t part = 0; part < chart.parts.size(); ++part) {
            const std::string path = path_of(chart, frame, part);
            if (!path.empty())
                all += element("path", {{"d", path}, {"class", fill_class(chart.parts[part].colour)}});
        }
        all += hints_of(chart, frame);
        return Drawn{chart.height, all};
    });
}

Markup legend_of(const std::vector<ColumnChart>& charts) {
    std::vector<LegendEntry> there;
    if (charts.empty()) return {};
    for (size_t part = 0; part < charts[0].parts.size(); ++part)
        if (std::any_of(charts.begin(), charts.end(),
                        [&](const ColumnChart& chart) { return has_part(chart, part); }))
            there.push_back(charts[0].parts[part]);
    return legend(there);
}

}  // namespace gpushim::analysis
