#include "over_time.h"

#include <cmath>
#include <map>

#include "../chart/line_chart.h"
#include "../report/gpu_label.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kMostLines = 6;
constexpr size_t kColourOf[] = {0, 1, 2, 4, 5, 6};

// Seconds since the rank's first call.
Query points_of(const PageInput& input, const char* what) {
    Query rows = input.source.run.prepare(
        "WITH highest AS (SELECT gpu_id, max(most) AS most FROM gpu_curve WHERE what = ?1 GROUP BY gpu_id"
        " ORDER BY 2 DESC, 1 LIMIT ?2)"
        " SELECT c.gpu_id, (c.from_ns - coalesce(r.first_ns, (SELECT min(from_ns) FROM gpu_curve))) / 1e9, "
        "c.mean,"
        " c.most FROM highest h JOIN gpu_curve c ON c.gpu_id = h.gpu_id JOIN gpu g ON g.gpu_id = c.gpu_id"
        " LEFT JOIN rank r ON r.rank_id = g.rank_id WHERE c.what = ?1 ORDER BY c.gpu_id, c.from_ns");
    rows.bind(1, std::string(what));
    rows.bind(2, kMostLines);
    return rows;
}

std::string seconds_text(double seconds) { return duration_text(std::round(seconds * 1e9)); }

}  // namespace

Markup curve_of(const PageInput& input, const CurveWords& words) {
    if (!input.source.run.has("gpu_curve")) return {};
    const auto labels = gpu_labels(input.source.run);
    std::map<int64_t, LineSeries> by_gpu;
    Query rows = points_of(input, words.what);
    while (rows.step()) {
        const auto found = by_gpu.try_emplace(rows.number(0)).first;
        found->second.points.push_back({rows.real(1), rows.real(2) * words.scale, rows.real(2) * words.scale,
                                        rows.real(3) * words.scale});
    }
    if (by_gpu.empty()) return {};
    LineChart chart;
    chart.words = {
        words.id, words.title,
        std::string(words.title) + " over time: a line for the mean of each GPU, shaded up to the highest."};
    chart.x = {"since the first call", seconds_text};
    chart.y = {"", words.text, false, words.with_zero, words.binary};
    chart.height = 190;
    for (auto& [gpu_id, series] : by_gpu) {
        series.name = labels.at(gpu_id).text;
        series.colour = kColourOf[chart.series.size() % std::size(kColourOf)];
        chart.series.push_back(std::move(series));
    }
    const auto all = static_cast<int64_t>(labels.size());
    const Markup rest = all > kMostLines ? element("p", {{"class", "rest"}},
                                                   "Those " + std::to_string(by_gpu.size()) + " GPUs of " +
                                                       std::to_string(all) + " with the highest values.")
                                         : Markup();
    return figure(chart.words, line_chart(chart), rest);
}

}  // namespace gpushim::analysis
