// One GPU of a trace, gone through once per piece: what ran on it at the same time, when it may and when it
// must have been busy, its gaps and why they were.
//
//   known      |───────────────────────────────|
//   stream 1   ███████     ████           ███ |        |██N██
//   stream 2        █████                     |
//   gaps                |─|    |─────────|     |────────|       the last is asked whole, for N, and counted
//   counted             |─|    |─────────|     |-|              within what is known
//
// One thread.
#pragma once

#include <optional>
#include <unordered_map>

#include "../../idle/gaps.h"
#include "../pass/dependencies.h"
#include "activity_sweep.h"
#include "busy_unions.h"
#include "idle_sums.h"
#include "launch_figures.h"

namespace gpushim::analysis {

// What is known of a GPU in a step beside its activity.
struct StepFigures {
    int32_t step = kNoStep;
    int64_t busy_low_ns = 0, busy_high_ns = 0;                // certainly
    int64_t busy_likely_low_ns = 0, busy_likely_high_ns = 0;  // of it, in 95 of 100 cases
    LaunchSums launches;
    std::optional<int64_t> first_launch_ns;  // from the step's begin; not of kNoStep

    StepFigures& operator+=(const StepFigures& other);  // of the same step
};

class GpuSweep {
  public:
    GpuSweep(int32_t gpu, size_t streams, IdleFacts idle, bool collects_busy)
        : gpu_(gpu),
          idle_facts_(std::move(idle)),
          streams_(streams),
          first_called_ns_(streams, INT64_MAX),
          activity_(collects_busy) {}

    GpuSweep(GpuSweep&&) = default;

    void begin(Interval known, std::span<const WholeStep> steps, TimedSpan::Untimed untimed);
    bool is_known() const { return !segments_.empty(); }
    // An operation of the piece, or behind it, with device times, in order of enter.
    void add(size_t stream, const Call& call, uint32_t thread, const Dependency& dependency,
             bool is_later_node);
    void launch(const Call& call, What what, int64_t between_ns) { launches_.add(call, what, between_ns); }
    // All launches entered before then were given. `threads`: by the
    // number of `add`
    void settle(int64_t until_ns, std::span<const int64_t> threads);
    void ask(const HostLines& lines);  // about the gaps that are certain
    void end(const HostLines& lines, std::span<const int64_t> threads, const Undisturbed* would = nullptr);

    int64_t unasked_from_ns() const { return gaps_->from_ns(); }  // of a known one, in a piece
    void take_busy(std::vector<Interval>& into) { activity_.take_busy(into); }

    ActivitySweep& activity() { return activity_; }
    const IdleSums& idle() const { return idle_; }
    RangeIdle take_ranges() { return idle_.take_ranges(); }
    std::vector<StepFigures>& figures() { return figures_; }
    int64_t early() const { return early_; }  // began before they were asked for

  private:
    void put(const DeviceOp& op, std::span<const int64_t> threads);
    // A stream runs in the order of the launches. What ran before the first one whose call was recorded was
    // launched before the recording began; a call that is missing later was lost. Pages that move were never
    // in it.
    bool launched_before(size_t stream, const Call& call) {
        if (TraceFacts::has_call(call)) {
            first_called_ns_[stream] = std::min(first_called_ns_[stream], call.times.start_ns);
            return false;
        }
        return !TraceFacts::is_migration(call) && call.times.start_ns < first_called_ns_[stream];
    }
    WaitsFor waits_for(const DeviceOp& op);
    static Next next_of(const DeviceOp& op, int64_t thread, WaitsFor waits);
    void ask(const Gap& gap, const HostLines& lines);
    void put_figures();

    int32_t gpu_;
    IdleFacts idle_facts_;
    size_t streams_;
    std::vector<int64_t> first_called_ns_;  // by stream: the start of the first whose call was recorded
    std::vector<Segment> segments_;
    DeviceOrder order_;
    ActivitySweep activity_;
    BusyUnions busy_;
    std::optional<Gaps> gaps_;
    std::vector<Gap> asked_;
    Attributed answer_;                                          // of the last one
    std::optional<DeviceOperation> behind_;                      // the first that starts behind what is known
    std::unordered_multimap<int64_t, Dependency> dependencies_;  // by enter; it may be of several
    LaunchFigures launches_;
    IdleSums idle_;
    int64_t known_until_ns_ = 0, busy_until_ns_ = 0, settled_ns_ = 0;
    std::vector<StepFigures> figures_;
    StepFigures rest_;
    int64_t early_ = 0;
};

}  // namespace gpushim::analysis
