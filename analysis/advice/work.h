// What operations take in a mean step, and what changing them saves. One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "situation.h"

namespace gpushim::analysis {

// By what share work becomes shorter: rows of advice/factors.def.
struct Factor {
    double low, high;
};
Factor factor(std::string_view name);

// Device time of some operations, of a mean step (or a second) of each GPU.
struct Work {
    std::map<int64_t, double> ns_by_gpu;
    std::map<int64_t, double> unsure_by_gpu;  // of that, so much may not have been theirs
    double ns = 0;                            // on the GPU that has most of it
    double unsure_ns = 0;                     // … of that
    double count = 0;                         // how many there are of them there
    double bytes = 0;                         // of copies
    std::string largest;                      // the short name of the kernel with most of it
    std::vector<Evidence> evidence;

    std::string text() const;  // "2.1 ms to 3.4 ms", "up to 3.4 ms"
    std::string text_of_each() const;
    Gain shorter_by(const Factor& share, const Situation& run) const;
};

// Kernels that `where` chooses, a condition on a row of `kernel` named k.
Work kernels_where(const Situation& run, const std::string& where);
// Copies that `where` chooses, on a row of `copy_stat` named c: while nothing else ran on the GPU. Those that
// come in every step.
Work copies_where(const Situation& run, const std::string& where);
// The same of a run without steps: all of them.
Work copies_of_run_where(const Situation& run, const std::string& where);

}  // namespace gpushim::analysis
