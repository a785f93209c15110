// One night of a history: a run of a job that runs again and again, and what was said of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../compare/side.h"
#include "../failure.h"

namespace gpushim::analysis {

enum class NightResult { kOk, kRegressed, kInconclusive };

constexpr const char* kNightResults[] = {"ok", "regressed", "inconclusive"};
constexpr const char* name_of(NightResult result) { return kNightResults[static_cast<size_t>(result)]; }
constexpr ExitCode exit_code_of(NightResult result) {
    return result == NightResult::kOk ? kFine : result == NightResult::kRegressed ? kSlower : kIncomplete;
}

struct Night {
    int64_t id = 0;
    std::string name;
    int64_t started_real_ns = 0;
    std::string series;  // whose nights these are: the tags that were asked for
    std::string place;   // GPU, GPUs, driver, NCCL: another one begins anew
    NightResult result = NightResult::kInconclusive;
    std::string why;
    std::string cause;            // the part of a step that grew; empty: none was found
    bool is_base = false;         // later nights may be compared with it
    bool is_accepted = false;     // a person said that this is how it is now
    std::optional<int64_t> base;  // the night that it was compared with
    std::optional<int64_t> first_bad;
    std::optional<double> step_ns;  // the typical step's median
    std::optional<double> samples_per_step;
    std::optional<int64_t> token_p50_ns,
        token_p95_ns;  // from one token to the next; none: not known to serve
    std::optional<double> mfu, product_mfu, joules_per_step;  // as of Side
};

// The series' and the place's words, of what a run says of itself.
std::string series_of(const Side& side, const std::vector<std::string>& tags);
std::string place_of(const Side& side);

}  // namespace gpushim::analysis
