// A step without something that is in it: its gap list, played again. In every step the rank with the longest
// own work (its window without waiting for peers) decides how long the step takes, so a gain is what that
// becomes shorter by, and no more than down to the next one.
//
//   rank 0  ████ input ████████ wwww        own 16, without input 10
//   rank 1  ████████████████████████        own 24, without input 24: nothing is gained
//
// A rank with several GPUs is as quick as the busiest of them; those with nothing to do decide nothing.
//
// What a cause leaves behind is inherited: a launch that no longer waits for the host's work still needs the
// latency of an empty queue, so the low end leaves one in each gap, and of what is left only what is idle for
// sure. Read-only; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "finding.h"

struct sqlite3;

namespace gpushim::analysis {

struct IdlePart {
    std::string cause;
    int64_t ns, pieces, drained_ns;  // drained_ns: in gaps that a wait of the host had made
};

struct GpuInStep {
    int64_t gpu_id, rank_id;
    int64_t number;  // of the step, as the program counts
    int64_t step;    // as in the tables
    int64_t window_ns, busy_ns, busy_high_ns, waiting_ns, latency_ns, kernel_gap_ns;
    bool loads_code;
    std::vector<IdlePart> idle;

    double idle_ns(std::initializer_list<std::string_view> causes) const;
    double drained_ns(std::initializer_list<std::string_view> causes) const;
    // What share of its idle time is sure, by the bounds of when operations ran.
    double sure_share() const;
    double own_ns() const { return static_cast<double>(window_ns - waiting_ns); }
};

// So many times the usual loading of a batch is something else.
constexpr double kUnusualInput = 4;

class WhatIf {
  public:
    explicit WhatIf(sqlite3* run);

    int64_t steps() const { return static_cast<int64_t>(by_step_.size()); }
    bool has_steps() const { return has_steps_; }  // false: slices or spans, taken to a second each
    double step_ns() const { return step_ns_; }

    // Without idle time of these causes. Low: each of its gaps keeps so much of itself.
    enum class Left { kLatency, kKernelGap };
    Gain without(std::initializer_list<std::string_view> causes, Left left = Left::kLatency) const;
    // Without the idle time of these causes that is in gaps which a wait of the host made.
    Gain without_drained(std::initializer_list<std::string_view> causes) const;
    // Without so much of each rank's step: `less` gives it for its GPU and step.
    Gain shorter(const std::function<Gain(const GpuInStep&)>& less) const;
    // The same, for as much of each step of a GPU; GPUs without a row keep theirs.
    Gain shorter(const std::map<int64_t, Gain>& by_gpu) const;

    // Idle time of these causes in the step in the middle, over all ranks: what is usual.
    double usual_ns(std::initializer_list<std::string_view> causes) const;
    // The same on the GPU that has most of it, in the mean step.
    double idle_ns(std::initializer_list<std::string_view> causes) const;

  private:
    std::vector<std::vector<GpuInStep>> by_step_;  // of each rank its busiest GPU
    bool has_steps_ = false;
    double step_ns_ = 0;
    double scale_ = 1;  // from the mean of what is in by_step_ to what a gain is of
};

}  // namespace gpushim::analysis
