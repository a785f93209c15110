// How long launching takes: the call, the way to an empty GPU, and how far ahead the host is.
#include <cmath>

#include "../text/units.h"
#include "facts.h"
#include "gpu_label.h"
#include "section.h"

namespace gpushim::analysis::section_launch {

namespace {

constexpr const char* kLaunches =
    "SELECT l.gpu_id, coalesce(s.stream, CAST(l.stream_id AS TEXT)), l.count, l.timed, l.on_empty,"
    " l.api_p50_ns, l.latency_p50_ns, l.latency_p95_ns, l.small, l.runway_p5_ns, l.behind_p50_ns,"
    " l.depth_p50, l.depth_max, l.negative, l.full_queue, g.latency_ns, g.why"
    " FROM launch_stat l LEFT JOIN stream_stat s ON s.gpu_id = l.gpu_id AND s.stream_id = l.stream_id"
    " LEFT JOIN gpu g ON g.gpu_id = l.gpu_id"
    " ORDER BY coalesce(l.in_steps, 0) DESC, l.count DESC, l.gpu_id, l.stream_id";

Json json_of(const Query& row, const GpuLabel& label) {
    const std::string untimed = row.text(16).empty() ? "no launch has device times" : row.text(16);
    const bool timed = row.number(3) > 0;
    const std::string why = !timed               ? untimed
                            : row.number(4) == 0 ? "no launch found the GPU empty"
                                                 : "when those began that found the GPU empty is not sure";
    const auto if_timed = [&](int column) { return timed ? row.maybe(column) : std::nullopt; };
    return Facts()
        .maybe("rank", label.rank, "no rank is known")
        .known("gpu_id", row.number(0))
        .known("stream", row.text(1))
        .known("count", row.number(2))
        .maybe("api_p50_ns", row.maybe(5), "no call was timed")
        .maybe("latency_p50_ns", row.maybe(6), why)
        .maybe("latency_p95_ns", row.maybe(7), why)
        .maybe("small_kernel_count", if_timed(8), untimed)
        .maybe("runway_p5_ns", if_timed(9), timed ? "not known" : untimed)
        .maybe("behind_p50_ns", row.maybe(10), timed ? "no launch was queued behind another" : untimed)
        .maybe("queue_depth_p50", if_timed(11), timed ? "not known" : untimed)
        .maybe("queue_depth_max", if_timed(12), timed ? "not known" : untimed)
        .maybe("negative", if_timed(13), untimed)
        .maybe("full_queue", row.maybe(14), "not recorded")
        .json();
}

std::string about(const std::optional<int64_t>& ns) {
    return ns ? duration_text(static_cast<double>(*ns)) : "not recorded";
}

// Launches of one GPU in one step.
std::optional<int64_t> per_step(const Database& run, double in_all_steps, int64_t gpu_id) {
    Query steps = run.prepare(
        "SELECT s.whole_steps FROM v_run_steps s JOIN gpu g ON g.rank_id = s.rank_id WHERE g.gpu_id = ?1");
    steps.bind(1, gpu_id);
    if (!steps.step() || steps.real(0) <= 0) return {};
    return std::llround(in_all_steps / steps.real(0));
}

// Of the stream with the most launches in steps; of its GPU all streams are counted.
void write_text(const ReportSource& source, Report& report) {
    Query row = source.run.prepare(kLaunches);
    if (!row.step()) return;
    const int64_t gpu_id = row.number(0);
    Query sum = source.run.prepare(
        "SELECT sum(count), sum(small), sum(timed), (SELECT sum(executed)"
        " FROM v_launch_work WHERE gpu_id = ?1) FROM launch_stat WHERE gpu_id = ?1");
    sum.bind(1, gpu_id);
    sum.step();
    const auto of_step = per_step(source.run, sum.real(3), gpu_id);
    std::string text = of_step ? count_text(*of_step) + "/step" : count_text(sum.number(0)) + " in all";
    text += ", call " + about(row.maybe(5));
    if (row.number(3) == 0) return report.line("LAUNCH     " + text + "; latency is not recorded");
    text += row.number(4) == 0 ? ", none found the GPU empty"
            : row.is_null(6)
                ? ", latency on an empty queue not sure"
                : ", " + about(row.maybe(6)) + " to an empty GPU (p95 " + about(row.maybe(7)) + ")";
    if (const auto latency = row.maybe(15); latency && sum.number(2) > 0) {
        const int64_t small = of_step ? *of_step * sum.number(1) / sum.number(2) : sum.number(1);
        text +=
            ", " + count_text(small) + " kernels under " + duration_text(2 * static_cast<double>(*latency));
    }
    report.line("LAUNCH     " + text);
}

void write(const ReportSource& source, Report& report) {
    const auto labels = gpu_labels(source.run);
    Json list = Json::array();
    Query rows = source.run.prepare(kLaunches);
    while (rows.step())
        if (const auto label = labels.find(rows.number(0)); label != labels.end())
            list.push(json_of(rows, label->second));
    report.json.set("launch", std::move(list));
    write_text(source, report);
}

constexpr Section kSection = {"launch", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_launch
