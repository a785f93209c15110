// How long each step took, and which took far longer than the others.
#include <algorithm>

#include "../chart/line_chart.h"
#include "../chart/page.h"
#include "../chart/table.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "figures.h"
#include "part.h"

namespace gpushim::analysis::part_steps {

namespace {

constexpr int64_t kMostPoints = 300;
constexpr size_t kMostMarks = 12;
constexpr double kFarLonger = 1.2;  // than the median, and longer than 95 of 100

struct Point {
    int64_t first, last;  // numbers of steps
    double least, mean, most;

    std::string words() const {
        return first == last ? "step " + std::to_string(first)
                             : "steps " + std::to_string(first) + "-" + std::to_string(last);
    }
};

std::vector<Point> points_of(const ReportSource& source, int64_t first, int64_t width) {
    Query rows = source.of_steps(
        "SELECT min(number), max(number), min(dur_ns), avg(dur_ns), max(dur_ns) FROM v_counted_step"
        " WHERE is_slice = 0 AND number BETWEEN ?1 AND ?2 GROUP BY (number - ?3) / ?4 ORDER BY 1");
    rows.bind(3, first);
    rows.bind(4, width);
    std::vector<Point> all;
    while (rows.step())
        all.push_back({rows.number(0), rows.number(1), rows.real(2), rows.real(3), rows.real(4)});
    return all;
}

// Those to be marked: the longest, if they are far longer than the others.
std::vector<Point> outliers_of(std::vector<Point> points, double median, double p95) {
    std::erase_if(points,
                  [&](const Point& point) { return point.most <= std::max(kFarLonger * median, p95); });
    std::stable_sort(points.begin(), points.end(),
                     [](const Point& a, const Point& b) { return a.most > b.most; });
    points.resize(std::min(points.size(), kMostMarks));
    return points;
}

// What a point is: of one rank and one step there is nothing to be the mean of.
const char* name_of_points(const std::vector<Point>& points) {
    const bool are_ranges = std::any_of(points.begin(), points.end(),
                                        [](const Point& point) { return point.least < point.most; });
    const bool are_several = std::any_of(points.begin(), points.end(),
                                         [](const Point& point) { return point.first < point.last; });
    if (!are_ranges) return "a step";
    return are_several ? "mean; shaded from the fastest to the slowest"
                       : "mean of the ranks; shaded from the fastest to the slowest";
}

LineChart chart_of(const std::vector<Point>& points, const std::vector<Point>& outliers, const Json& steps) {
    LineChart chart;
    chart.words = {"step-time", "Step time",
                   "Of " + count_of_json(steps["count"]) + " steps the median took " +
                       duration_of(steps["median_ns"]) + ", 95 of 100 at most " +
                       duration_of(steps["p95_ns"]) + "; " +
                       count_axis(static_cast<double>(outliers.size())) + " are marked as far longer."};
    chart.x = {"step", count_axis, false, false, false, true};
    chart.y = {"", duration_text, false, true};
    LineSeries mean = {name_of_points(points), 0, {}};
    LineSeries marked = {"far longer", 3, {}, false};
    for (const Point& point : points) {
        const double x = static_cast<double>(point.first + point.last) / 2;
        mean.points.push_back({x, point.mean, point.least, point.most});
    }
    for (const Point& point : outliers)
        marked.points.push_back({static_cast<double>(point.first + point.last) / 2, point.most, kUnknown,
                                 kUnknown, point.words() + ": " + duration_text(point.most), true});
    chart.series = {mean};
    if (!outliers.empty()) chart.series.push_back(marked);
    return chart;
}

Markup rule_of(const std::vector<Point>& outliers, int64_t width) {
    std::string text =
        outliers.empty()
            ? "None is marked as far longer: at least 1.2 times the median and longer than 95 of 100."
            : "Marked: at least 1.2 times the median and longer than 95 of 100, at most " +
                  std::to_string(kMostMarks) + ".";
    if (width > 1) text += " Each point is " + std::to_string(width) + " steps.";
    return paragraph(text, "rest");
}

// Each as a sentence.
Markup changes_of(const PageInput& input) {
    Markup all;
    for (const Json& change : input.of("changes").items()) {
        const bool is_slower =
            change["after_ns"].amount().value_or(0) > change["before_ns"].amount().value_or(0);
        all += paragraph((is_slower ? "Slower since step " : "Quicker since step ") +
                         count_of_json(change["step"]) + ": " + duration_of(change["after_ns"]) + ", " +
                         duration_of(change["before_ns"]) + " before.");
    }
    return all;
}

Markup write(const PageInput& input) {
    const Json& steps = input.of("steps");
    const auto first = steps["first"].amount(), last = steps["last"].amount(),
               median = steps["median_ns"].amount();
    if (!first || !last || !median) return missing(why_of(steps, "median_ns"));
    const int64_t from = std::clamp(to_int64(*first), -kFarthestStep, kFarthestStep);
    const int64_t count = std::clamp(to_int64(*last), from, kFarthestStep) - from + 1;
    const int64_t width = (count + kMostPoints - 1) / kMostPoints;
    const std::vector<Point> points = points_of(input.source, from, width);
    const std::vector<Point> outliers = outliers_of(points, *median, steps["p95_ns"].amount().value_or(0));
    const LineChart chart = chart_of(points, outliers, steps);
    PageTable longest = {"The longest steps", "lrr", {"step", "longest", "of the median"}, {}};
    for (const Point& point : outliers) {
        longest.rows.push_back({TableCell(point.words(), static_cast<double>(point.first)),
                                TableCell(duration_text(point.most), point.most),
                                TableCell(times_text(point.most / *median), point.most)});
    }
    Markup below = rule_of(outliers, width);
    if (!longest.rows.empty()) below += folded("The longest steps as a table", table(longest));
    Markup all = changes_of(input);
    all += figure(chart.words, line_chart(chart), below);
    return all;
}

constexpr ReportPart kPart = {"steps", "Steps", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_steps
