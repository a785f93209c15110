// A run as it is compared with another: how long its steps took and what they are made of, what ran in them,
// and where. Read from a run's database, or from a history (history/). Plain values; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../advice/situation.h"
#include "../sqlite/database.h"

namespace gpushim::analysis {

// A mean step of a mean GPU in ns, in parts that add up to its length: compute, copies, collectives and
// waiting for peers, each where nothing before it in this list ran; and idle time by its cause.
struct StepSplit {
    std::map<std::string, double> parts_ns;
    double whole_ns() const;
};

// Steps that are alike: of the same operations.
struct StepGroup {
    std::optional<int64_t> signature;  // none: all that count, whatever is in them
    int64_t count = 0;
    std::vector<int64_t> lengths_ns;  // in their order; at most kMostLengths, evenly taken
    std::optional<StepSplit> split;   // of the middle half by length; none: none of it was timed whole
};

// Of where and how a run ran, in the order in which it is told.
struct Surrounding {
    std::string kind;  // GPU, GPUs, driver, NCCL, level, tag, variable
    std::string name;  // of a tag or variable
    std::string value;
};

struct KernelUse {
    double launches = 0;       // of a step of a GPU; where there are no steps, 1
    std::optional<double> ns;  // of these together; none: not recorded
};

// Of a program that serves: how evenly its tokens come, and what prompts take of the time.
struct ServingUse {
    std::optional<int64_t> token_p50_ns, token_p95_ns, token_p99_ns;
    double iterations_per_s = 0, prefill_share = 0;
    struct Kind {
        std::string kind;
        int64_t iterations = 0;
        double time_share = 0;
        std::optional<int64_t> p50_ns;
    };
    std::vector<Kind> kinds;  // most time first
};

struct Predicted {
    std::string finding;
    double low_ns = 0, high_ns = 0;
};

struct Side {
    std::string name;
    std::set<std::string> traces;  // by their own ids
    int64_t started_real_ns = 0;
    bool is_whole = true;  // all of its files could be read
    int64_t ranks_seen = 0, gpus = 0;
    std::optional<int64_t> ranks_expected;
    std::vector<Surrounding> around;
    std::optional<double> samples_per_step, busy_share, productive_share, launches_per_step;
    std::optional<double> mfu, product_mfu, joules_per_step;  // a history of before has none
    std::optional<ServingUse> serving;
    std::vector<StepGroup> groups;  // the first is all steps that count; none: there are no steps
    std::string why_no_steps;
    std::map<std::string, KernelUse> kernels;
    std::vector<Predicted> predicted;

    bool has_steps() const { return !groups.empty(); }
    std::string value_of(const std::string& kind, const std::string& name = "") const;  // empty: not recorded
    // The group that most steps are in; of all steps where they are of too many kinds. There are steps.
    const StepGroup& typical() const;
};

constexpr size_t kMostLengths = 20'000;
// A signature that fewer of the steps have is no group of its own.
constexpr double kFewestAlike = 0.2;

Side read_side(const Database& run, std::string name, const Given& given);

// Every k-th of them, so that at most so many are left.
std::vector<int64_t> thinned(const std::vector<int64_t>& lengths_ns, size_t most);

}  // namespace gpushim::analysis
