// What one host thread did and when, as far as its calls and its CPU clock tell.
//
//   calls     ═launch═   ═launch═             ═════comm═════  ═copy═
//   inside                                        ═alloc═
//   gap row                      bbbbqqrrrrr
//   inside                                                           |─operator─|
//   the line  LLLLLLLL???LLLLLLLLbbbbqqrrrrr??NNNNAAAAAAANNN??CCCCCC??OOOOOOOOOOOO
//
// An instant is what comes first in What: so a call made inside a call of NCCL counts only where it says
// more. Outside of calls a row of host_gap tells how long the thread ran and how long it was off its CPU, but
// not in which order: it is laid out as blocked, ready without a CPU, running, which is what a wait and its
// end look like. Without a row nothing is known, unless the framework told another profiler what it did. All
// in integers: the pieces of any interval sum to its length. Memory is that of what forget_before has left.
// One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "../interval/interval.h"
#include "../trace/host_inside.h"
#include "../trace/loading_stage.h"

namespace gpushim::analysis {

// In the order of the rule: of two at one time the first counts.
enum class What : uint8_t {
    loading,        // a batch, whatever it calls for that
    sync,           // stream, context or event synchronise; the tail of a copy that blocks
    staging,        // a pageable or blocking copy to a device
    alloc_or_load,  // memory allocated or freed, a module or library loaded
    making_graph,   // an executable graph made, updated or destroyed
    comm,           // the host side of NCCL or MPI
    launch,         // anything that submits to a device's queue and returns: kernels, graphs, memsets,
                    // asynchronous copies, events recorded and waited for
    slow_call,      // another call of the driver, for kSlowNs or longer
    optimizing,     // in the optimizer, from here on as the framework told
    dispatching,    // … in an operator
    told_wait,      // … in a frame that waits for the GPU: what is called in it says more
    other_call,     // a call of the driver that is shorter
    running,        // outside of calls, from here on
    ready,          // … it could have run, but had no CPU
    blocked,
    python,  // in a Python frame, as the framework told
    unknown
};

constexpr int32_t kNoGpu = -1;
constexpr int32_t kNotSampled = -1;
// Up to this between two launches the host is launching as fast as it can.
constexpr int64_t kLaunchLoopGapNs = 20'000;
// Up to this between two operators, or two launches where no framework tells of operators, it is on its way
// from one to the other. Real programs take below 0.5 ms, or above 3.
constexpr int64_t kBetweenOperatorsNs = 1'000'000;

// Dispatching an operator takes microseconds, and ends in calls. One that makes none for so long computes.
constexpr int64_t kOperatorWorkNs = 1'000'000;

// A launch takes microseconds, and other calls that neither wait, copy nor allocate hardly ever a
// millisecond: what takes so long loads code, which drivers do when it is first launched, sets the device up,
// or is a large graph, or waits for a lock or a processor.
constexpr int64_t kSlowNs = 2'000'000;

struct HostCall {
    What what;  // not what a gap row says
    int64_t from_ns, until_ns;
    int32_t gpu = kNoGpu;                       // of a launch or a sync
    LoadingStage stage = LoadingStage::untold;  // of loading
};

struct HostGap {  // a row of host_gap
    int64_t from_ns, until_ns;
    std::optional<int64_t> running_ns;
    int64_t runqueue_ns = 0;                    // of the rest; 0 also where it was not sampled
    int32_t blocked_on = kNotSampled;           // the caller's number for what samples say
    bool running_first = false;                 // where something tells the order
    LoadingStage stage = LoadingStage::untold;  // while it is blocked, if it loads
};

struct HostSample {  // a moment in a gap, in which the thread was seen in its Python
    int64_t at_ns;
    int32_t python_line;  // the caller's number for it
    PythonDoes does = PythonDoes::untold;
    LoadingStage stage = LoadingStage::untold;
};

struct HostPiece {
    int64_t from_ns, until_ns;
    What what;
    int64_t enter_ns;  // of the call or the row that it is of
    int32_t gpu = kNoGpu;
    int32_t blocked_on = kNotSampled;
    int32_t python_line = kNotSampled;
    PythonDoes does = PythonDoes::untold;       // as a sample says
    LoadingStage stage = LoadingStage::untold;  // if it loads
};

// The calls around a time in which a thread was in none, or in others only.
struct Stretch {
    std::optional<HostPiece> before;  // none: too far away to matter
    std::optional<HostPiece> after;
    std::optional<HostPiece> call;  // that, or what an operator that comes next calls first
};

// One of the calls that have a cause of their own.
constexpr bool decides(What what) { return what < What::other_call; }
// Between two launches it is a part of launching.
constexpr bool may_be_in_loop(What what) {
    return what == What::dispatching || what == What::told_wait || !decides(what);
}

class HostLine {
  public:
    // In order of from_ns, calls and gaps together; one that begins before those takes their place where it
    // says more.
    void add(const HostCall& call);
    void add(const HostGap& gap);
    // In the gap that was added last, after it; else it is left out. It stands for the time from half-way to
    // the sample before it, or from the gap's begin, to half-way to the next, or to the gap's end.
    void add(const HostSample& sample);
    // From then on the framework told nothing until it tells something, and before, if it had not yet told
    // anything.
    void add_untold(int64_t from_ns);

    // They tile [from, until): each begins where the last one ends.
    std::vector<HostPiece> pieces(int64_t from_ns, int64_t until_ns) const;
    Stretch around(int64_t t_ns) const;
    // Whether it lies between two launches for this GPU that are no further apart than a loop of launches:
    // in what the framework does for each of them, and in nothing else that has a cause of its own.
    bool is_in_launch_loop(const HostPiece& piece, int32_t gpu) const;
    // The time of the operator that it is of, if that takes a millisecond or longer and has made no call
    // directly before or after: one that has is on its way from a call or to one, such as one that loads its
    // library.
    std::optional<Interval> work_of_operator(const HostPiece& piece) const;
    bool launches_in(const Interval& time) const;  // for any GPU, as far back as is kept
    // The sync call that covers [from, until] or touches it; the last one.
    std::optional<HostPiece> sync_at(int64_t from_ns, int64_t until_ns) const;

    // When the last launch for this GPU returned by then, if that is no further back than what is kept.
    std::optional<int64_t> launched_by(int64_t t_ns, int32_t gpu) const;

    // How many samples were taken in that time.
    int64_t samples_in(int64_t from_ns, int64_t until_ns) const;

    // Nothing before it will be asked for.
    void forget_before(int64_t t_ns);
    size_t size() const { return pieces_.size() - first_; }
    // Whether the framework told at that time what this thread is in: then what it is in none of is none of
    // its work. Where it told anything it told all, but for what is known to be untold.
    bool is_told_at(int64_t t_ns) const;
    bool is_loading_told() const { return is_loading_told_; }

  private:
    void put(const HostPiece& piece);
    void put_over(const HostPiece& piece);
    void append(const HostPiece& piece, int64_t from_ns, int64_t until_ns);
    size_t first_ending_after(int64_t t_ns) const;
    // By time, apart from each other; those before first_ are forgotten.
    std::vector<HostPiece> pieces_;
    size_t first_ = 0;
    std::deque<int64_t> samples_ns_;  // by time
    bool is_told_ = false, is_loading_told_ = false;
    std::deque<Interval> untold_;  // by time
    struct {
        int64_t from_ns = 0, until_ns = 0;
        int64_t sampled_ns = INT64_MIN;  // the last sample in it
    } gap_;
};

}  // namespace gpushim::analysis
