// Totals of a run are divided by all steps in which something was launched; those of kernels by the ones
// whose begin and end are known, where calls tell which step they are of. Other figures are of the steps that
// count. Read-only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

struct AllSteps {
    // Of a GPU, the mean of them. What was launched in part of a step, or beside steps, counts as part of
    // one.
    double all;
    int64_t counted;
    bool with_others = false;  // what updates nothing is among them, as so many steps as it is long

    // "mean of all 3,657 steps", "mean of 4.5 steps' work", "mean with evaluations"; empty: the same steps as
    // elsewhere.
    std::string differing_text() const;
};

// None: no steps were found.
std::optional<AllSteps> all_steps(const Database& run);
std::optional<AllSteps> steps_of_kernels(const Database& run);

}  // namespace gpushim::analysis
