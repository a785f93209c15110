// What a report is made from: a run database, and the traces it was made of where they are there. And what
// the person asked for, which wins over what the run was analysed with. Read-only; one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../trace/inputs.h"

namespace gpushim::analysis {

struct ReportOptions {
    std::optional<int64_t> params, samples_per_step, tokens_per_sample, flops_per_sample;
    std::optional<double> bandwidth_bytes_per_s, between_bytes_per_s, price_per_gpu_hour;
    std::optional<int64_t> from_step, to_step;  // numbers, both inclusive
    bool redact = false;
    bool all = false;  // also the sections that are details
    // The answer is lines alone: what only JSON would say need not be found out.
    bool only_lines = false;
};

// A damaged file may number its steps as it likes: none beyond is looked at, so differences are numbers.
constexpr int64_t kFarthestStep = int64_t{1} << 53;

struct Contradiction;
class CountedSteps;
struct CountedLengths;
struct GpuFigures;
struct RunAdvice;
struct ServingFigures;
struct ShownSteps;

struct ReportSource {
    const Database& run;
    const Inputs* traces = nullptr;  // null: only the run database is there
    ReportOptions options = {};
    // What several sections ask for, read when the first does: of counted.h, contradictions.h, run_advice.h,
    // gpu_figures.h, step_figures.h and serving_figures.h.
    mutable std::shared_ptr<const CountedSteps> asked_counted = {}, asked_counted_part = {};
    mutable std::shared_ptr<const CountedLengths> asked_lengths = {};
    mutable std::shared_ptr<const std::vector<Contradiction>> asked_contradictions = {};
    mutable std::shared_ptr<const RunAdvice> asked_rules = {};
    mutable std::shared_ptr<const std::vector<GpuFigures>> asked_gpus = {};
    mutable std::shared_ptr<const ShownSteps> asked_steps = {};
    mutable std::shared_ptr<const ServingFigures> asked_serving = {};

    // A name that came out of a trace, safe to print and not too long. Asked to redact: a hash in its place,
    // the same for the same name in every report. kind: kernel, host, program, path, range.
    std::string name(std::string_view kind, const std::string& text) const;
    // The same of a kernel, short: several kernels may be called so.
    std::string short_kernel_name(const std::string& name) const;
    std::string json_name(std::string_view kind, const std::string& text) const;

    // A value of the table `run`; none: it is not there.
    std::optional<int64_t> number(const char* key) const;
    std::optional<double> real(const char* key) const;
    std::optional<std::string> text(const char* key) const;

    // A query whose ?1 and ?2 are the first and the last number of steps asked for.
    Query of_steps(std::string_view sql) const;
    int64_t first_step() const;
    int64_t last_step() const;
    bool is_part_of_run() const { return options.from_step || options.to_step; }
};

std::string shown(const std::string& name);  // as ReportSource::name, but never redacted

std::optional<double> maybe_real(const Query& query, int column);

}  // namespace gpushim::analysis
