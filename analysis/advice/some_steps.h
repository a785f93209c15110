// Time that is in some steps more than in others: in how many most of it is, and in which one the most. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpushim::analysis {

struct SomeSteps {
    int64_t steps = 0, all = 0;  // those with three quarters of it, the longest first; all of them
    int64_t number = 0;          // of the one with the most
    double longest_ns = 0;

    // In fewer than half of them. Then they are named.
    bool is_some() const { return 2 * steps < all; }
    // ", most of it in 4 of 199 steps; the longest, 41.0 ms, in step 49"
    std::string text() const;
};

SomeSteps some_steps(std::vector<std::pair<double, int64_t>> ns_and_number);

}  // namespace gpushim::analysis
