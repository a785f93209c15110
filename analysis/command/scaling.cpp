// `gpushim scaling`: runs of the same job on more and more GPUs; how much of each GPU is lost, and to what.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "../failure.h"
#include "../report/facts.h"
#include "../report/printed.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "run_summaries.h"

namespace gpushim::analysis::command_scaling {

namespace {

constexpr size_t kAllRows = 10'000;
constexpr Option kOptions[] = {
    {"json", nullptr, "print one JSON object"},
    {"samples-per-step", "N", "samples in a step of all ranks together, in each run"},
};

// What the loss is made of, in this order.
struct Part {
    const char* name;
    double StepParts::*ns;
};
constexpr std::array kParts = {
    Part{"input", &StepParts::input_ns},       Part{"host", &StepParts::host_ns},
    Part{"transfer", &StepParts::transfer_ns}, Part{"wait", &StepParts::wait_ns},
    Part{"pack", &StepParts::pack_ns},         Part{"work", &StepParts::work_ns},
};

// How a step of `run` compares with one of `base`, for as many samples on each GPU: what it takes longer, by
// part, as a share of it. These add up to 1 - efficiency.
struct Scaled {
    double same = 1;  // a step of `run` to one of as many samples on each GPU
    double efficiency = 1;
    std::array<double, kParts.size()> lost{};
};

double same_samples(const RunSummary& base, const RunSummary& run) {
    if (!base.samples_per_step || !run.samples_per_step || base.gpus == 0 || run.gpus == 0) return 1;
    return *base.samples_per_step / static_cast<double>(base.gpus) /
           (*run.samples_per_step / static_cast<double>(run.gpus));
}

Scaled scaled(const RunSummary& base, const RunSummary& run) {
    Scaled result;
    result.same = same_samples(base, run);
    const double whole_ns = run.parts->whole_ns * result.same;
    result.efficiency = base.parts->whole_ns / whole_ns;
    for (size_t i = 0; i < kParts.size(); ++i)
        result.lost[i] = (*run.parts.*kParts[i].ns * result.same - *base.parts.*kParts[i].ns) / whole_ns;
    return result;
}

std::vector<RunSummary> by_gpus(const Arguments& arguments, bool& complete) {
    std::vector<RunSummary> runs = open_summaries(arguments, complete);
    for (const RunSummary& run : runs)
        if (!run.parts) throw Failure(run.name + ": no whole step of it was timed");
    std::stable_sort(runs.begin(), runs.end(),
                     [](const RunSummary& a, const RunSummary& b) { return a.gpus < b.gpus; });
    return runs;
}

std::string rate_text_of(const RunSummary& run) {
    if (run.samples_per_s) return count_text(to_int64(*run.samples_per_s)) + "/s";
    char text[32];
    std::snprintf(text, sizeof text, "%.1f steps/s", 1e9 / run.parts->whole_ns);
    return text;
}

std::string points_text(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", std::round(1000 * share) / 10 + 0.0);  // no "-0.0"
    return text;
}

std::vector<std::string> row_of(const RunSummary& run, const Scaled& is) {
    std::vector<std::string> row = {run.name, count_text(run.gpus), rate_text_of(run),
                                    percent_text(is.efficiency)};
    for (const double lost : is.lost) row.push_back(points_text(lost));
    return row;
}

Json json_of(const RunSummary& run, const Scaled& is) {
    Json lost = Json::object(), parts = Json::object();
    for (size_t i = 0; i < kParts.size(); ++i) {
        lost.set(kParts[i].name, is.lost[i]);
        parts.set(kParts[i].name, to_int64(*run.parts.*kParts[i].ns));
    }
    return Facts()
        .known("run", run.name)
        .known("gpus", run.gpus)
        .known("step_ns", to_int64(run.parts->whole_ns))
        .known("step_parts_ns", std::move(parts))
        .maybe("samples_per_s", run.samples_per_s, "samples per step are not known")
        .known("efficiency", is.efficiency)
        .known("lost", std::move(lost))
        .json();
}

int run(const Arguments& arguments) {
    if (arguments.words_.size() < 2)
        throw Failure("which runs? gpushim scaling RUN RUN…, one per number of GPUs");
    bool complete = true;
    const std::vector<RunSummary> runs = by_gpus(arguments, complete);
    Json list = Json::array();
    std::vector<std::vector<std::string>> rows = {{"run", "GPUs", "rate", "efficiency"}};
    for (const Part& part : kParts) rows[0].push_back(part.name);
    for (const RunSummary& one : runs) {
        const Scaled is = scaled(runs.front(), one);
        list.push(json_of(one, is));
        rows.push_back(row_of(one, is));
    }
    if (arguments.has("json")) {
        std::printf("%s\n", Json::object({{"schema", 1}, {"runs", std::move(list)}}).text().c_str());
        return complete ? kFine : kIncomplete;
    }
    Report report;
    report.table("lrrrrrrrrr", std::move(rows), kAllRows);
    report.paragraph("efficiency: of a GPU in " + runs.front().name + ", " +
                         (runs.front().samples_per_step ? "at as many samples"
                                                        : "taking a step to be as many samples on each GPU") +
                         "; lost, in points that add up to the rest: input: idle while batches are loaded; "
                         "host: other idle"
                         " time; transfer and wait: collectives alone; pack: around them; work: all else",
                     2);
    for (const std::string& line : as_printed(report)) std::puts(line.c_str());
    return complete ? kFine : kIncomplete;
}

constexpr Command kScaling = {"scaling",
                              "RUN_OR_TRACES…",
                              "compare runs on 1, 2, 4, … GPUs: efficiency and what is lost",
                              "",
                              -1,
                              kOptions,
                              run};
const Registration kRegistration(kScaling);

}  // namespace

}  // namespace gpushim::analysis::command_scaling
