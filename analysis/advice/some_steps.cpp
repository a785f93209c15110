#include "some_steps.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "../text/units.h"

namespace gpushim::analysis {

SomeSteps some_steps(std::vector<std::pair<double, int64_t>> ns_and_number) {
    constexpr double kMost = 0.75;  // of the time
    std::stable_sort(ns_and_number.begin(), ns_and_number.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    SomeSteps some;
    some.all = static_cast<int64_t>(ns_and_number.size());
    if (ns_and_number.empty()) return some;
    std::tie(some.longest_ns, some.number) = ns_and_number.front();
    double sum_ns = 0, so_far_ns = 0;
    for (const auto& [ns, number] : ns_and_number) sum_ns += ns;
    while (some.steps < some.all && so_far_ns < kMost * sum_ns)
        so_far_ns += ns_and_number[static_cast<size_t>(some.steps++)].first;
    return some;
}

std::string SomeSteps::text() const {
    return ", most of it in " + count_text(steps) + " of " + count_text(all) + " steps; the longest, " +
           duration_text(longest_ns) + ", in step " + count_text(number);
}

}  // namespace gpushim::analysis
