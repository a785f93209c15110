// Two runs beside each other: whether a step takes longer than it did, by how much and why. What differs
// about where they ran comes first, and can forbid the question. Pure; one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../failure.h"
#include "../step/median_shift.h"
#include "side.h"

namespace gpushim::analysis {

enum class Verdict { kSame, kFaster, kSlower, kInconclusive };

struct Change {
    std::string what;           // "GPU", "tag commit"
    std::string before, after;  // empty: not recorded, or not set
    bool forbids = false;       // the runs cannot be compared

    std::string words() const;
};

// A part of the step; those of a comparison add up to the shift of the median, with `rest`.
struct PartShift {
    std::string name;
    double base_ns = 0, new_ns = 0;

    double shift_ns() const { return new_ns - base_ns; }
};

struct KernelShift {
    std::string name;
    std::optional<KernelUse> base, now;  // none: it is not launched there

    std::optional<double> shift_ns() const;  // none: durations are not recorded
};

struct Comparison {
    Verdict verdict = Verdict::kInconclusive;
    std::string why;  // of an inconclusive one
    double threshold = 0;
    std::vector<Change> changes;
    std::optional<MedianShift> shift;  // of a step; of the new run's at as many samples as the base's
    double same_samples = 1;           // what the new run's times were multiplied with for that
    std::string matched;               // which steps are compared
    std::vector<PartShift> parts;      // the largest shift first; empty: see why_no_parts
    std::string why_no_parts;
    std::vector<KernelShift> kernels;  // that differ, the largest shift first

    // The part that grew most (shrank, if a step became shorter). Null: nothing is known of it.
    const PartShift* cause() const;
};

constexpr double kDefaultThreshold = 0.03;
constexpr const char* kRest = "rest";  // what steps with device times say differently from all of them

Comparison compare(const Side& base, const Side& now, double threshold = kDefaultThreshold);

const char* name_of(Verdict verdict);  // same, faster, slower, inconclusive
ExitCode exit_code_of(Verdict verdict);

// Why a run can be compared with nothing: ranks or files are missing, or it has no steps. None: it can be.
std::optional<std::string> unusable(const Side& side);
// That a run has too few steps for any but a large change to be seen. None: it has enough.
std::optional<std::string> too_few_steps(const Side& side);

// What differs about where they ran and how.
std::vector<Change> changes_of(const Side& base, const Side& now);

}  // namespace gpushim::analysis
