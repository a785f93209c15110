// `gpushim ledger`: one line per run, by when it began: what it reached, what had changed, what was predicted
// of the run before and what came of it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../compare/summary.h"
#include "../failure.h"
#include "../report/facts.h"
#include "../report/printed.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "command.h"
#include "run_summaries.h"

namespace gpushim::analysis::command_ledger {

namespace {

constexpr size_t kAllRows = 10'000;
constexpr Option kOptions[] = {
    {"json", nullptr, "print one JSON object"},
    {"samples-per-step", "N", "samples in a step of all ranks together, for samples per second"},
    {"params", "N", "number of parameters of the model, as in 11689512 or 1.5M"},
    {"bandwidth", "300GB/s", "bandwidth that AllReduce should reach, with a unit"},
};

std::string ms_text(double ns) {
    char text[32];
    std::snprintf(text, sizeof text, std::fabs(ns) >= 1e8 ? "%.0f ms" : "%.2f ms", ns / 1e6);
    return text;
}

std::string range_text(const Gain& gain) {
    char text[64];
    std::snprintf(text, sizeof text, gain.high_ns >= 1e8 ? "%.0f-%.0f ms" : "%.2f-%.2f ms", gain.low_ns / 1e6,
                  gain.high_ns / 1e6);
    return text;
}

// While a kernel ran, a collective's or another; copies are no kernels.
std::optional<double> kernel_share(const RunSummary& run) {
    if (!run.productive_share || !run.parts || run.parts->whole_ns <= 0) return {};
    return *run.productive_share + (run.parts->transfer_ns + run.parts->wait_ns) / run.parts->whole_ns;
}

std::vector<std::string> row_of(const RunSummary& run, const RunSummary* before) {
    const auto known = [](const std::optional<double>& value, auto text) {
        return value ? text(*value) : std::string("-");
    };
    const std::string changed = before ? changes_text(*before, run) : "";
    const auto real = before ? gained_ns(*before, run) : std::nullopt;
    const Advice* const top = run.top();
    return {run.name,
            known(run.productive_share, percent_text),
            known(kernel_share(run), percent_text),
            known(run.step_ns, ms_text),
            known(run.samples_per_s, [](double rate) { return count_text(to_int64(rate)); }),
            before == nullptr ? "-"
            : changed.empty() ? "nothing known"
                              : changed,
            top ? top->rule->id : "-",
            top ? range_text(top->finding.gain) : "-",
            known(real, ms_text)};
}

Json json_of(const RunSummary& run, const RunSummary* before) {
    const Advice* const top = run.top();
    Json no_gain = Json::array();
    for (const Advice& one : run.advice)
        if (one.finding.kind == Kind::kNoGain) no_gain.push(one.rule->id);
    Facts facts;
    facts.known("run", run.name)
        .known("started_real_ns", run.started_real_ns)
        .known("ranks", run.ranks)
        .known("gpus", run.gpus)
        .maybe("busy_share", run.busy_share, "nothing was timed")
        .maybe("productive_share", run.productive_share, "nothing was timed")
        .maybe("kernel_share", kernel_share(run), "no whole step was timed")
        .maybe("step_median_ns", to_int64(run.step_ns), "no steps")
        .maybe("samples_per_step", run.samples_per_step, "steps or samples per step are not known")
        .maybe("samples_per_s", run.samples_per_s, "steps or samples per step are not known")
        .maybe("changed", before ? std::optional(changes_text(*before, run)) : std::nullopt, "the first run")
        .maybe("top_finding", top ? std::optional(std::string(top->rule->id)) : std::nullopt,
               "nothing is worth 3 % of a step")
        .maybe("predicted_low_ns", top ? std::optional(to_int64(top->finding.gain.low_ns)) : std::nullopt,
               "no finding")
        .maybe("predicted_high_ns", top ? std::optional(to_int64(top->finding.gain.high_ns)) : std::nullopt,
               "no finding")
        .maybe("gained_ns", to_int64(before ? gained_ns(*before, run) : std::nullopt),
               before ? "no steps" : "the first run");
    facts.known("no_gain_expected", std::move(no_gain));
    return facts.json();
}

int run(const Arguments& arguments) {
    if (arguments.words_.empty()) throw Failure("which runs? gpushim ledger RUN_OR_FOLDER…");
    bool complete = true;
    std::vector<RunSummary> runs = open_summaries(arguments, complete);
    std::stable_sort(runs.begin(), runs.end(), [](const RunSummary& a, const RunSummary& b) {
        return a.started_real_ns < b.started_real_ns;
    });
    Json list = Json::array();
    std::vector<std::vector<std::string>> rows = {{"run", "productive", "kernels", "step", "samples/s",
                                                   "changed", "top finding", "predicted", "gained"}};
    for (size_t i = 0; i < runs.size(); ++i) {
        const RunSummary* const before = i == 0 ? nullptr : &runs[i - 1];
        list.push(json_of(runs[i], before));
        rows.push_back(row_of(runs[i], before));
    }
    if (arguments.has("json")) {
        std::printf("%s\n", Json::object({{"schema", 1}, {"runs", std::move(list)}}).text().c_str());
        return complete ? kFine : kIncomplete;
    }
    Report report;
    report.table("lrrrrllrr", std::move(rows), kAllRows);
    report.line("kernels: the share of time in which one ran, collectives included, copies not");
    report.line(
        "predicted: gain per step of the top finding; gained: how much shorter a step became, at the samples "
        "of the run before");
    for (const std::string& line : as_printed(report)) std::puts(line.c_str());
    return complete ? kFine : kIncomplete;
}

constexpr Command kLedger = {
    "ledger", "RUN_OR_TRACES…", "print one line per run: what changed and what it gained", "", -1, kOptions,
    run};
const Registration kRegistration(kLedger);

}  // namespace

}  // namespace gpushim::analysis::command_ledger
