#include "line_chart.h"

#include <cmath>

namespace gpushim::analysis {

namespace {

std::string place_of(const Frame& frame, double x, double y) {
    return coordinate(frame.x.place(x)) + " " + coordinate(frame.y.place(y));
}

Markup line_of(const Frame& frame, const LineSeries& series) {
    std::string path;
    bool goes_on = false;
    for (const LinePoint& point : series.points) {
        const bool is_known = std::isfinite(point.y);
        if (is_known) path += (goes_on ? "L" : "M") + place_of(frame, point.x, point.y);
        goes_on = is_known;
    }
    return path.empty() ? Markup()
                        : element("path", {{"d", path}, {"class", "line " + line_class(series.colour)}});
}

// The ranges as one area: there by the highs, back by the lows.
Markup area_of(const Frame& frame, const LineSeries& series) {
    std::string there, back;
    for (const LinePoint& point : series.points) {
        if (!std::isfinite(point.low) || !std::isfinite(point.high)) continue;
        there += (there.empty() ? "M" : "L") + place_of(frame, point.x, point.high);
        back = "L" + place_of(frame, point.x, point.low) + back;
    }
    return there.empty() ? Markup()
                         : element("path", {{"d", there + back + "Z"},
                                            {"class", "range " + fill_class(series.colour)}});
}

// With no neighbour that is known a point is in no line.
bool is_alone(const LineSeries& series, size_t nth) {
    const auto known = [&](size_t i) {
        return i < series.points.size() && std::isfinite(series.points[i].y);
    };
    return !known(nth + 1) && (nth == 0 || !known(nth - 1));
}

Markup dot_of(const Frame& frame, const LineSeries& series, size_t nth) {
    const LinePoint& point = series.points[nth];
    if (!std::isfinite(point.y)) return {};
    const double x = frame.x.place(point.x), y = frame.y.place(point.y);
    const Markup words = point.hint.empty() ? Markup() : hint(point.hint);
    if (point.is_marked)
        return element(
            "path",
            {{"d", "M" + coordinate(x) + " " + coordinate(y - 6) + "l6 6l-6 6l-6 -6z"}, {"class", "mark"}},
            words);
    if (series.has_line && point.hint.empty() && !is_alone(series, nth)) return {};
    return element("circle",
                   {{"cx", coordinate(x)},
                    {"cy", coordinate(y)},
                    {"r", series.has_line ? "2.5" : "4"},
                    {"class", fill_class(series.colour)}},
                   words);
}

Markup rule_of(const Frame& frame, const LineChart::Rule& rule) {
    const double x = frame.x.place(rule.x);
    const bool is_right = x > (frame.x.begin + frame.x.end) / 2;
    Markup all = element("line", {{"x1", coordinate(x)},
                                  {"x2", coordinate(x)},
                                  {"y1", coordinate(frame.y.end)},
                                  {"y2", coordinate(frame.y.begin)},
                                  {"class", "rule"}});
    all += label(x + (is_right ? -5 : 5), frame.y.end + 11, is_right ? "end" : "start", rule.text, "note");
    return all;
}

}  // namespace

Markup line_chart(const LineChart& chart) {
    Extent x, y;
    for (const LineSeries& series : chart.series)
        for (const LinePoint& point : series.points) {
            x.take(point.x);
            for (const double value : {point.y, point.low, point.high}) y.take(value);
        }
    for (const LineChart::Rule& rule : chart.rules) x.take(rule.x);
    Markup made = drawing(chart.words, [&](const Room& room) {
        const Frame frame(room, chart.x, x, chart.y, y, chart.height);
        Markup all = frame.axes(chart.x, chart.y);
        for (const LineSeries& series : chart.series) all += area_of(frame, series);
        for (const LineChart::Rule& rule : chart.rules) all += rule_of(frame, rule);
        for (const LineSeries& series : chart.series) {
            if (series.has_line) all += line_of(frame, series);
            for (size_t i = 0; i < series.points.size(); ++i) all += dot_of(frame, series, i);
        }
        return Drawn{chart.height, all};
    });
    if (chart.series.size() > 1) {
        std::vector<LegendEntry> entries;
        for (const LineSeries& series : chart.series) entries.push_back({series.name, series.colour});
        made += legend(entries);
    }
    return made;
}

}  // namespace gpushim::analysis
