// LaunchSums of kernels and graphs by stream: what the calls cost, how soon their work began, and what the
// GPU had in its queues. Calls of the whole run, times of pieces.
//
//   host        |─L1─|                  |─L2─|                    a latency counts from when the launch was
//   stream             ███████1███████████████ ██2██              entered and the stream was free:
//               |──────| on an empty GPU      |─| behind 1
#include <algorithm>
#include <optional>
#include <vector>

#include "../../../shim/schema/flags.h"
#include "../pass/latency_survey.h"
#include "../pass/profile_steps.h"
#include "../sql/histogram.h"
#include "../sql/run_db.h"
#include "known_steps.h"
#include "own_parts.h"
#include "places.h"
#include "queues.h"

namespace gpushim::analysis {

namespace {

// A full queue makes calls wait: so much longer than others, with so many operations outstanding (on an H200
// 510 with two events each that we record).
constexpr int64_t kFullQueue = 400, kFullQueueFactor = 10;
constexpr uint64_t kEnoughForMedian = 100, kMedianEvery = 1024;

struct LaunchSums {
    int64_t count = 0, api_sum_ns = 0, in_steps = 0;
    int64_t timed = 0, on_empty = 0, behind = 0, negative = 0, small = 0, small_ns = 0, full_queue = 0;
    int64_t depth_max = 0;
    Histogram api, empty, late, depth, runway;
};

bool is_launch(const Call& call) {
    return call.kind == CallKind::operation &&
           (call.type == OperationClass::compute || call.type == OperationClass::comm ||
            call.type == OperationClass::graph);
}

// Found its GPU empty, unless what nobody recorded the call of ran until it began.
struct OnEmpty {
    size_t place;
    int64_t enter_ns, start_ns;
    bool tells_latency;
};

class LaunchPart : public PartByCall<LaunchPart> {
  public:
    explicit LaunchPart(const TraceFacts& facts)
        : facts_(facts),
          places_(facts),
          steps_(facts),
          queues_(facts),
          all_(places_.size()),
          on_empty_(facts.gpus.size()),
          is_begin_known_(!is_profile(*facts.trace)) {
        for (size_t lane = 0; lane < facts.lanes.size(); ++lane) {
            const int32_t gpu = places_[lane].gpu;
            const int64_t latency_ns = gpu >= 0 ? facts.gpus[static_cast<size_t>(gpu)].idle.latency_ns : 0;
            lanes_.push_back({gpu, kNothing, 2 * latency_ns, latency_ns / 2});
        }
    }

    [[gnu::always_inline]] void see(const Call& call) override {
        if (!is_launch(call) || is_later_node(call)) return;
        LaunchSums& launches = all_[places_.of(call)];
        const int64_t cost_ns = call.exit_ns - call.enter_ns;
        ++launches.count;
        launches.in_steps += steps_.has(call);
        if (!TraceFacts::has_call(call)) return;  // what it cost is not recorded
        launches.api_sum_ns += cost_ns;
        const int32_t bucket = bucket_of(cost_ns);
        launches.api.add(cost_ns, bucket);
        costs_.add(cost_ns, bucket);
        if (static_cast<uint64_t>(costs_.count()) % kMedianEvery == kEnoughForMedian)
            usual_cost_ns_ = costs_.value(0.5).value_or(0);
    }

    void begin(const TimedPiece& piece) override {
        add_on_empty();
        queues_.clear();
        for (OfLane& lane : lanes_) {
            const bool is_told = lane.gpu >= 0 && static_cast<size_t>(lane.gpu) < piece.known.size();
            lane.known = is_told ? piece.known[static_cast<size_t>(lane.gpu)] : kNothing;
        }
    }

    [[gnu::always_inline]] void take(const Call& call, bool before) override {
        if (!TraceFacts::has_call(call) || is_later_node(call))
            was_not_empty(call);
        else if (!before && call.timed && is_launch(call))
            measure(call);
        queues_.add(call);
    }

    void finish(RunDb& run) override {
        add_on_empty();
        add_totals();
        for (size_t i = 0; i < all_.size(); ++i)
            if (all_[i].count > 0) write(run, places_[i], all_[i]);
    }

  private:
    static constexpr Interval kNothing = {INT64_MAX, INT64_MIN};
    struct OfLane {
        int32_t gpu;
        Interval known;                     // of the piece
        int64_t small_below_ns, unsure_ns;  // two latencies, half of one
    };
    // Most took some time, and nothing else is asked of them.
    bool is_later_node(const Call& call) const {
        return call.exit_ns == call.enter_ns && facts_.is_later_node(call);
    }

    [[gnu::always_inline]] void measure(const Call& call) {
        if (call.lane < 0) return;
        const OfLane& lane = lanes_[static_cast<size_t>(call.lane)];
        if (call.enter_ns < lane.known.start_ns || call.enter_ns >= lane.known.end_ns) return;
        LaunchSums& launches = all_[places_.of(call)];
        const QueueState state = queues_.at(call.lane, call.enter_ns);
        const int64_t ran_ns = call.times.end_ns - call.times.start_ns;
        ++launches.timed;
        if (call.type == OperationClass::compute && ran_ns < lane.small_below_ns) {
            ++launches.small;
            launches.small_ns += ran_ns;
        }
        add_latency(launches, call, state, std::min(call.times.likely_ns, lane.unsure_ns));
        if (!state.gpu_known) return;
        launches.depth.add(state.pending);
        launches.depth_max = std::max(launches.depth_max, state.pending);
        launches.runway.add(state.runway_ns);
        if (state.outstanding >= kFullQueue && usual_cost_ns_ > 0 &&
            call.exit_ns - call.enter_ns > kFullQueueFactor * usual_cost_ns_)
            ++launches.full_queue;
    }

    // One that waited for events of other streams is neither on an empty GPU nor behind its own stream. What
    // ended as the launch was entered, as far as the estimates tell, was over: half of a latency that is left
    // of it makes the launch no later, all that is not known of when it was may.
    [[gnu::always_inline]] void add_latency(LaunchSums& launches, const Call& call, const QueueState& state,
                                            int64_t unsure_ns) {
        const int64_t enter_ns = call.enter_ns, start_ns = call.times.start_ns;
        int64_t latency_ns = start_ns - enter_ns;
        if (state.gpu_known && std::max(state.gpu_free_ns, state.may_start_ns) <= enter_ns + unsure_ns) {
            note_on_empty(call, is_begin_known_ || state.gpu_free_ns != 0);
        } else if (state.stream_known && state.stream_free_ns > enter_ns) {
            latency_ns = start_ns - state.may_start_ns;
            ++launches.behind;
            launches.late.add(latency_ns);
        }
        launches.negative += latency_ns < 0;
    }

    void note_on_empty(const Call& call, bool counts) {
        auto& newest = on_empty_[static_cast<size_t>(places_.gpu_of(call))];
        if (newest) add(*newest);
        newest.reset();
        if (counts)
            newest = OnEmpty{places_.of(call), call.enter_ns, call.times.start_ns, tells_latency(call)};
    }
    void add(const OnEmpty& launch) {
        LaunchSums& launches = all_[launch.place];
        ++launches.on_empty;
        if (launch.tells_latency) launches.empty.add(launch.start_ns - launch.enter_ns);
    }
    void add_on_empty() {
        for (auto& newest : on_empty_) {
            if (newest) add(*newest);
            newest.reset();
        }
    }

    // Its call was not recorded: when that was is not known, but that it had been.
    void was_not_empty(const Call& call) {
        if (call.kind != CallKind::operation || call.lane < 0 || !call.timed || is_later_node(call) ||
            TraceFacts::is_migration(call))
            return;
        const int32_t gpu = places_.gpu_of(call);
        if (gpu < 0) return;
        auto& newest = on_empty_[static_cast<size_t>(gpu)];
        if (newest && call.times.end_ns > newest->enter_ns && call.times.start_ns < newest->start_ns)
            newest.reset();
    }

    void add_totals() {
        if (!has_totals(*facts_.trace)) return;
        for (LaunchSums& launches : all_) launches.count = launches.api_sum_ns = 0;
        Query query = facts_.trace->base.prepare(
            "SELECT s.stream_id, sum(t.events), sum(t.sum_ns) FROM series s"
            " JOIN v_series_total t ON t.series_id = s.id"
            " WHERE s.kind IN ('launch', 'graph_launch') AND " +
            kRan.sql("s") + " GROUP BY s.stream_id");
        while (query.step()) {
            LaunchSums& launches = all_[places_.of_stream(query.maybe(0))];
            launches.count += query.number(1);
            launches.api_sum_ns += query.number(2);
        }
    }

    void write(RunDb& run, const Place& place, const LaunchSums& l) const {
        const bool latency_known =
            place.gpu >= 0 && facts_.gpus[static_cast<size_t>(place.gpu)].idle.latency_ns > 0;
        const auto if_known = [&](int64_t value) { return latency_known ? Value(value) : Value(nullptr); };
        const bool are_steps_known = !facts_.are_slices;
        const bool has_depth = l.depth.count() > 0, has_cost = l.api.count() > 0 || l.api_sum_ns > 0;
        run.add("launch_stat",
                {place.gpu_id, place.stream_id, l.count, has_cost ? Value(l.api_sum_ns) : Value(nullptr),
                 l.timed, l.on_empty, l.behind, l.negative, if_known(l.small), if_known(l.small_ns),
                 l.full_queue, maybe(l.api.value(0.5)), maybe(l.empty.value(0.5)), maybe(l.empty.value(0.95)),
                 maybe(l.late.value(0.5)), maybe(l.depth.value(0.5)),
                 has_depth ? Value(l.depth_max) : Value(nullptr), maybe(l.runway.value(0.05)),
                 are_steps_known ? Value(l.in_steps) : Value(nullptr)});
        l.api.write(run, "api_call", place.gpu_id, place.stream_id);
        l.empty.write(run, "latency_empty", place.gpu_id, place.stream_id);
        l.late.write(run, "latency_behind", place.gpu_id, place.stream_id);
        l.depth.write(run, "queue_depth", place.gpu_id, place.stream_id);
        l.runway.write(run, "runway", place.gpu_id, place.stream_id);
    }

    const TraceFacts& facts_;
    const Places places_;
    KnownSteps steps_;
    Queues queues_;
    std::vector<OfLane> lanes_;
    std::vector<LaunchSums> all_;  // by place
    // By GPU, the newest: no other finds it empty before that one has begun.
    std::vector<std::optional<OnEmpty>> on_empty_;
    const bool is_begin_known_;  // a profile begins in the middle of a run, with what GPUs have to do by then
    Histogram costs_;            // of all launch calls
    int64_t usual_cost_ns_ = 0;
};

const PartRegistration kLaunchPart(make_launch_part);

}  // namespace

std::unique_ptr<Part> make_launch_part(const TraceFacts& facts) {
    return std::make_unique<LaunchPart>(facts);
}

}  // namespace gpushim::analysis
