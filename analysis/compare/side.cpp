#include "side.h"

#include <algorithm>
#include <set>

#include "../advice/advise.h"
#include "../report/facts.h"
#include "../report/serving_figures.h"
#include "step_groups.h"
#include "summary.h"

namespace gpushim::analysis {

namespace {

std::string joined(const std::set<std::string>& values) {
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
    return text;
}

std::set<std::string> all_of(const Database& run, const char* sql) {
    std::set<std::string> values;
    Query row = run.prepare(sql);
    while (row.step())
        if (!row.is_null(0)) values.insert(row.text(0));
    return values;
}

std::string fact(const Database& run, const char* key) {
    Query row = run.prepare("SELECT value FROM run WHERE key = ?1");
    row.bind(1, std::string(key));
    return row.step() ? row.text(0) : "";
}

void read_around(const Database& run, const RunSummary& summary, Side& side) {
    const auto add = [&](const char* kind, const std::string& name, const std::string& value) {
        if (!value.empty() || !name.empty()) side.around.push_back({kind, name, value});
    };
    add("GPU", "", joined(summary.gpu_names));
    add("GPUs", "", std::to_string(summary.gpus));
    add("driver", "", fact(run, "driver_version"));
    add("NCCL", "", fact(run, "nccl_version"));
    add("device times", "", joined(all_of(run, "SELECT DISTINCT level FROM rank")));
    for (const auto& [key, value] : summary.tags) add("tag", key, value);
    for (const auto& [name, value] : summary.environment) add("variable", name, value);
}

// Launches in steps are shared out over all of these, warm-up too.
void read_kernels(const Database& run, Side& side) {
    Query steps = run.prepare("SELECT steps FROM v_steps_of_gpus");
    const double gpu_steps = steps.step() ? steps.real(0) : 0;
    const bool by_step = side.has_steps() && gpu_steps > 0;
    Query row = run.prepare(
        "SELECT name, sum(executed), CASE WHEN sum(executed) > 0"
        " THEN 1.0 * sum(timed_ns) / nullif(sum(timed), 0) ELSE sum(timed_ns) END FROM v_kernel_work"
        " GROUP BY name");
    double all = 0;
    while (row.step()) {
        KernelUse use{by_step ? row.real(1) / gpu_steps : 1, {}};
        if (!row.is_null(2)) use.ns = row.real(2) * use.launches;
        all += use.launches;
        side.kernels[row.text(0)] = use;
    }
    if (by_step) side.launches_per_step = all;
}

void read_serving(const Database& run, Side& side) {
    const ReportSource source = {run};
    const ServingFigures& is = serving_figures(source);
    if (!is.has_iterations()) return;
    const KindOfIteration* prefill = is.of("prefill");
    side.serving = {is.tokens.p50_ns,
                    is.tokens.p95_ns,
                    is.tokens.p99_ns,
                    is.per_second(),
                    prefill != nullptr && is.time_ns > 0 ? prefill->time_ns / is.time_ns : 0,
                    {}};
    for (const KindOfIteration& kind : is.kinds)
        side.serving->kinds.push_back(
            {kind.kind, kind.iterations, share_of(kind.time_ns, is.time_ns).value_or(0), kind.length.p50_ns});
}

}  // namespace

std::string Side::value_of(const std::string& kind, const std::string& name_in) const {
    for (const Surrounding& one : around)
        if (one.kind == kind && one.name == name_in) return one.value;
    return "";
}

const StepGroup& Side::typical() const {
    const StepGroup* best = &groups.front();
    for (const StepGroup& group : groups)
        if (group.signature && 2 * group.count >= groups.front().count &&
            (!best->signature || group.count > best->count))
            best = &group;
    return *best;
}

Side read_side(const Database& run, std::string name, const Given& given) {
    const RunSummary summary = summarise(run, std::move(name), given);
    Side side;
    side.name = summary.name;
    side.traces = all_of(run, "SELECT coalesce(uuid, file) FROM rank");
    side.started_real_ns = summary.started_real_ns;
    side.is_whole = fact(run, "refused").empty() || fact(run, "refused") == "0";
    side.gpus = summary.gpus;
    Query ranks = run.prepare(
        "SELECT (SELECT value FROM run WHERE key = 'ranks_seen'),"
        " (SELECT value FROM run WHERE key = 'ranks_expected')");
    if (ranks.step()) {
        side.ranks_seen = ranks.number(0);
        side.ranks_expected = ranks.maybe(1);
    }
    side.samples_per_step = summary.samples_per_step;
    side.busy_share = summary.busy_share;
    side.productive_share = summary.productive_share;
    side.mfu = summary.mfu;
    side.product_mfu = summary.product_mfu;
    side.joules_per_step = summary.joules_per_step;
    side.groups = step_groups(run);
    if (!side.has_steps()) {
        side.why_no_steps = joined(all_of(run, "SELECT steps_why FROM rank"));
        if (side.why_no_steps.empty()) side.why_no_steps = "none of its steps counts";
    }
    read_around(run, summary, side);
    read_kernels(run, side);
    read_serving(run, side);
    for (const Advice& one : summary.advice)
        if (one.finding.kind == Kind::kGain)
            side.predicted.push_back({one.rule->id, one.finding.gain.low_ns, one.finding.gain.high_ns});
    return side;
}

}  // namespace gpushim::analysis
