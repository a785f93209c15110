#include "latency_survey.h"

#include <algorithm>

#include "../../parallel/read_ahead.h"
#include "../../terminal/progress.h"
#include "../../trace/timeline.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kEnough = 5'000;  // of each kind, for each GPU: the middle of more would hardly be another
// Calls, and of them operations with device times: of a run in which no launch finds its GPU empty that many
// tell so, while of one that was timed now and then all are needed.
constexpr int64_t kMostSurveyed = 2'000'000, kMostTimed = 400'000;
constexpr int64_t kUsualLatencyNs = 8'000, kUsualSpreadNs = 12'000;  // where nothing tells
constexpr int64_t kWidestKernelGapNs = 20'000, kLeastKernelGapNs = 1'000;

// Two operations of a stream, the second of which was asked for that long before the first was over.
struct BackToBack {
    int64_t ahead_ns, gap_ns;
};

struct Seen {
    std::vector<int64_t> latencies_ns, calls_ns;
    std::vector<BackToBack> gaps;
    int64_t end_ns = INT64_MIN;  // of all that was launched so far
    int64_t unknown_lanes = 0;   // something was launched into them of which that is not known
};
struct LaneEnd {
    int64_t end_ns = INT64_MIN;
    bool known = false;
    bool may_run = false;  // what it was last given has no device times, or is none of the GPU's work
};

std::optional<int64_t> quantile(std::vector<int64_t>& values, double share) {
    if (values.size() < 5) return {};
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<size_t>(at)];
}

class LatencySurvey {
  public:
    LatencySurvey(TraceFacts& facts, const std::vector<DeviceClock>& clocks)
        : facts_(facts), seen_(facts.gpus.size()), lanes_(facts.lanes.size()), event_ns_(facts.gpus.size()) {
        for (const DeviceClock& clock : clocks)
            for (size_t i = 0; i < facts.gpus.size(); ++i) {
                if (facts.gpus[i].device_id != clock.device_id) continue;
                if (clock.event_ns) event_ns_[i] = *clock.event_ns;
                facts.clock_error_ns = std::max(facts.clock_error_ns, clock.error_ns);
            }
    }

    // Gaps are told by stamps that were queued; of none there are none.
    bool has_enough(bool are_gaps_told) const {
        return std::all_of(seen_.begin(), seen_.end(), [&](const Seen& seen) {
            return seen.latencies_ns.size() == kEnough && seen.calls_ns.size() == kEnough &&
                   (!are_gaps_told || seen.gaps.size() == kEnough);
        });
    }

    void take(const Call& call) {
        if (call.kind == CallKind::sync) return sync(call);
        if (call.lane == kNoLane) return;
        const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
        if (gpu < 0) return;
        Seen& seen = seen_[static_cast<size_t>(gpu)];
        LaneEnd& lane = lanes_[static_cast<size_t>(call.lane)];
        if (holds_back(call)) return set_may_run(lane, seen, true);
        if (call.kind != CallKind::operation) return;
        if (!call.timed) {
            set_may_run(lane, seen, !call.completes);
            lane.known = false;
            return;
        }
        const int64_t own_ns = call.times.events > 1 ? event_ns_[static_cast<size_t>(gpu)] : 0;
        // Without its call (launched before the trace, another node of a graph) nothing is known of when.
        const bool is_launch = (call.type == OperationClass::compute || call.type == OperationClass::graph) &&
                               TraceFacts::has_call(call) && !facts_.is_later_node(call);
        if (is_launch && seen.unknown_lanes == 0 && seen.end_ns < call.enter_ns && tells_latency(call) &&
            seen.latencies_ns.size() < kEnough) {
            seen.latencies_ns.push_back(std::max<int64_t>(0, call.times.start_ns - call.enter_ns));
        }
        if (is_launch && seen.calls_ns.size() < kEnough)
            seen.calls_ns.push_back(call.exit_ns - call.enter_ns);
        const int64_t gap_ns = lane.known ? call.times.start_ns - lane.end_ns : 0;
        if (is_launch && lane.known && call.times.queued && call.exit_ns < lane.end_ns && gap_ns >= 0 &&
            gap_ns <= kWidestKernelGapNs && seen.gaps.size() < kEnough)
            seen.gaps.push_back({lane.end_ns - call.enter_ns, std::max<int64_t>(0, gap_ns - 2 * own_ns)});
        set_may_run(lane, seen, false);  // it began after what had been before
        lane = {call.times.end_ns, true, false};
        seen.end_ns = std::max(seen.end_ns, call.times.end_ns);
    }

    void finish(const std::vector<DeviceClock>& clocks) {
        for (size_t i = 0; i < seen_.size(); ++i) {
            Seen& seen = seen_[i];
            DeviceFacts& idle = facts_.gpus[i].idle;
            idle.latency_ns = quantile(seen.latencies_ns, 0.5).value_or(kUsualLatencyNs);
            idle.latency_p95_ns =
                quantile(seen.latencies_ns, 0.95).value_or(idle.latency_ns + kUsualSpreadNs);
            for (const DeviceClock& clock : clocks) {
                if (clock.device_id != facts_.gpus[i].device_id || !clock.latency_ns) continue;
                idle.latency_ns = *clock.latency_ns + quantile(seen.calls_ns, 0.5).value_or(0);
                idle.latency_p95_ns =
                    std::max(idle.latency_p95_ns, idle.latency_ns + clock.latency_spread_ns.value_or(0));
            }
            // One that was asked for too late to follow at once says nothing of how fast it could have.
            std::vector<int64_t> gaps_ns;
            for (const BackToBack& pair : seen.gaps)
                if (pair.ahead_ns > idle.latency_p95_ns) gaps_ns.push_back(pair.gap_ns);
            if (const auto gap_ns = quantile(gaps_ns, 0.5))
                idle.kernel_gap_ns = std::max<int64_t>(*gap_ns, kLeastKernelGapNs);
        }
    }

  private:
    // What comes next in its stream waits for more than the GPU: for a function of the host, or for an event,
    // maybe of another GPU.
    static bool holds_back(const Call& call) {
        return call.kind == CallKind::wait || call.kind == CallKind::host_call;
    }

    // What had been launched before it is over once it returns, in a stream or in all of a context. What
    // comes next was entered later; of another thread it may have come before the wait's end, by which few
    // latencies are a little too long.
    void sync(const Call& call) {
        for (size_t i = 0; i < lanes_.size(); ++i) {
            const bool is_of_it =
                call.lane != kNoLane
                    ? static_cast<size_t>(call.lane) == i
                    : call.target_id != kNoTarget && facts_.lanes[i].context_handle_id == call.target_id;
            const int32_t gpu = facts_.gpu_of_lane[i];
            if (is_of_it && gpu >= 0) set_may_run(lanes_[i], seen_[static_cast<size_t>(gpu)], false);
        }
    }

    static void set_may_run(LaneEnd& lane, Seen& seen, bool may_run) {
        seen.unknown_lanes += static_cast<int64_t>(may_run) - static_cast<int64_t>(lane.may_run);
        lane.may_run = may_run;
    }

    TraceFacts& facts_;
    std::vector<Seen> seen_;  // by GPU
    std::vector<LaneEnd> lanes_;
    std::vector<int64_t> event_ns_;  // of our events, on the device
};

}  // namespace

void survey_latencies(TraceFacts& facts) {
    Timeline timeline(*facts.trace);
    LatencySurvey survey(facts, timeline.clocks());
    ReadAhead<Call> ahead([&](Call& call) { return timeline.next(call); }, facts.reads_ahead);
    ProgressCount read;
    bool are_gaps_told = false;
    timeline.words().errors.each(
        [&](int64_t, const TraceWords::Error& error) { are_gaps_told |= error.queued; });
    for (int64_t calls = 0, timed = 0;
         calls < kMostSurveyed && timed < kMostTimed && !survey.has_enough(are_gaps_told); ++calls, ++read) {
        const Call* call = ahead.next();
        if (call == nullptr) break;
        timed += call->timed;
        survey.take(*call);
    }
    survey.finish(timeline.clocks());
}

}  // namespace gpushim::analysis
