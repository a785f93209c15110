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
// sure. Read-only; one thread. What it is given to ask of a GPU in a step is asked on several, but by each().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "../run/sql/counted_steps.h"
#include "finding.h"

namespace gpushim::analysis {

// So many times what is usual in a step is something else: not the loading of a batch, not a loss that is
// read.
constexpr double kUnusual = 4;

// What a step is shorter by without so much idle time. Low: as far as that is sure, and a launch's latency
// stays in its place.
Gain without_idle(const GpuInStep& gpu, double ns);

class WhatIf {
  public:
    explicit WhatIf(const CountedSteps& basis);  // which must outlive it, wherever it is moved to

    int64_t steps() const { return static_cast<int64_t>(step_ends_.size()); }
    bool has_steps() const { return has_steps_; }  // false: slices or spans, each taken to what a gain is of
    double step_ns() const { return step_ns_; }    // what a gain is of
    // A mean step of those that were not timed as a whole; else a gain is of a second.
    void take_as_steps_of(double ns);
    // Time of one of its steps, slices or spans, as of what a gain is of; and back.
    double of_gain(double piece_ns) const { return piece_ns * scale_; }
    double of_piece(double gain_ns) const { return gain_ns / scale_; }

    // Without idle time of these causes. Low: each of its gaps keeps so much of itself.
    enum class Left { kLatency, kKernelGap };
    static Gain idle_gone(const GpuInStep& gpu, Causes causes, Left left);  // of one of its steps
    Gain without(Causes causes, Left left = Left::kLatency) const;
    Gain without_usual(Causes causes, Left left) const;  // of each step as much as is usual
    // Without the idle time of these causes that is in gaps which a wait of the host made, as far as it is
    // usual: a step in which a checkpoint is written waits for each of its copies.
    Gain without_drained(Causes causes) const;
    // Without so much of each rank's step: `less` gives it for its GPU and step.
    Gain shorter(const std::function<Gain(const GpuInStep&)>& less) const;
    // The same, for so much of a mean step of a GPU, spread as its work is; GPUs without a row keep theirs.
    Gain shorter(const std::map<int64_t, Gain>& by_gpu) const;

    // Idle time of these causes in the step in the middle, over all ranks: what is usual.
    double usual_ns(Causes causes) const;
    double usual_drained_ns(Causes causes) const;  // of it, in gaps which a wait of the host made
    // The same of each rank by itself: what one does in each of its steps is usual for it, though no other
    // rank does it.
    std::map<int64_t, double> usual_by_rank_ns(Causes causes) const;
    // The same of the rank that has most of it, in the mean step: on its busiest GPU, which need not be the
    // same one in each step.
    double idle_ns(Causes causes) const;
    double mean_ns(const std::function<double(const GpuInStep&)>& of) const;  // of other times
    // Each rank's busiest GPU in each step, one after the other, on the thread that asks.
    void each(const std::function<void(const GpuInStep&)>& see) const;
    std::vector<double> of_each(const std::function<double(const GpuInStep&)>& of) const;  // in that order

  private:
    // Idle time of one of these causes is there; else whatever is asked of them is 0, without a look at all
    // steps.
    bool has_any(Causes causes) const;
    Gain shorter(size_t step, const std::function<Gain(const GpuInStep&)>& less) const;
    double usual(const std::function<double(const GpuInStep&)>& of) const;

    std::vector<const GpuInStep*> gpus_;  // of each step and rank the busiest, step by step
    std::vector<size_t> step_ends_;       // in gpus_
    std::vector<Cause> causes_;           // of idle time on any GPU
    bool has_steps_ = false;
    double step_ns_ = 0;
    double scale_ = 1;  // from the mean of what is in gpus_ to what a gain is of
};

}  // namespace gpushim::analysis
