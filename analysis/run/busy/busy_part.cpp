#include "busy_part.h"

#include "busy_rows.h"
#include "host_calls.h"
#include "idle_range_rows.h"
#include "input_copies.h"
#include "own_ranges.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kSettleEvery = 64;  // calls

class BusyPart : public PartByCall<BusyPart> {
  public:
    explicit BusyPart(const TraceFacts& facts)
        : facts_(facts),
          host_(facts),
          dependencies_(facts),
          inputs_(facts),
          ranges_(facts.trace),
          in_ranges_(facts) {
        std::vector<size_t> streams(facts.gpus.size());
        for (const int32_t gpu : facts.gpu_of_lane)
            stream_of_lane_.push_back(gpu < 0 ? 0 : streams[static_cast<size_t>(gpu)]++);
        for (size_t i = 0; i < facts.gpus.size(); ++i) {
            earliest_ask_ns_ =
                std::max(earliest_ask_ns_, facts.gpus[i].idle.latency_ns + facts.clock_error_ns);
            sweeps_.emplace_back(static_cast<int32_t>(i), streams[i], idle_facts(facts.gpus[i]),
                                 facts.gpus.size() > 1);
        }
    }

    bool wants_chains() const override { return true; }
    bool takes_long() const override { return true; }
    void see(const Call& call) override {
        inputs_.see(call);
        ranges_.read_until(call.enter_ns);
    }
    void begin(const TimedPiece& piece) override;
    void take(const Call& call, bool before) override;
    void behind(const Call& call) override;
    void end() override;
    void finish(RunDb& run) override {
        write_busy(run, facts_, sweeps_, any_busy_);
        in_ranges_.write(run, ranges_.names());
    }

  private:
    IdleFacts idle_facts(const Gpu& gpu) {
        return {gpu.idle, facts_.clock_error_ns,
                [this](int64_t thread, int64_t enter_ns) { return inputs_.is_input(thread, enter_ns); },
                ranges_.are_recorded()
                    ? [this](int64_t thread, int64_t t_ns,
                             int64_t launch_ns) { return range_at(thread, t_ns, launch_ns); }
                    : decltype(IdleFacts::range_at)()};
    }
    GpuSweep* sweep_of(const Call& call) {
        if (call.lane == kNoLane) return nullptr;
        const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
        return gpu >= 0 && sweeps_[static_cast<size_t>(gpu)].is_known() ? &sweeps_[static_cast<size_t>(gpu)]
                                                                        : nullptr;
    }
    Interval what_counts_of(Interval known, const TimedPiece& piece) const;
    uint32_t thread_of(const Call& call) {
        const bool is_last = last_thread_ < threads_.size() && threads_[last_thread_] == call.thread_id;
        return is_last ? last_thread_ : find_thread(call.thread_id);
    }
    uint32_t find_thread(int64_t id);
    void operation(const Call& call, GpuSweep* sweep, uint32_t thread);
    void settle(int64_t until_ns);
    void gather_busy();
    RangeHere range_at(int64_t thread, int64_t t_ns, int64_t launch_ns) const;

    const TraceFacts& facts_;
    HostCalls host_;
    Dependencies dependencies_;
    InputCopies inputs_;
    OwnRanges ranges_;                    // by the trace's clock, not the piece's
    IdleRangeRows in_ranges_;             // of pieces that are over
    std::vector<size_t> stream_of_lane_;  // among those of its GPU
    std::vector<GpuSweep> sweeps_;        // by GPU
    int64_t earliest_ask_ns_ = 0;         // so long before a gap the host may be asked

    std::unordered_map<int64_t, uint32_t> thread_index_;
    std::vector<int64_t> threads_;
    std::vector<LaunchLoop> loops_;  // by thread
    uint32_t last_thread_ = 0;
    size_t unsettled_ = 0;                // calls
    const Undisturbed* would_ = nullptr;  // of the piece

    // Of several GPUs: when any was busy.
    std::vector<Segment> hull_;
    UnionBySegment any_;
    std::vector<Interval> busy_;
    UnionByStep any_busy_;
};

// What a window has of the start-up, or of what comes behind the last step, says nothing of a GPU. Steps that
// are whole stay, warm-up, too.
Interval BusyPart::what_counts_of(Interval known, const TimedPiece& piece) const {
    if (!facts_.only_within) return known;
    Interval counts = *facts_.only_within;
    if (piece.would != nullptr)
        counts = {piece.would->moved(counts.start_ns), piece.would->moved(counts.end_ns)};
    if (!piece.steps.empty())
        counts = {std::min(counts.start_ns, piece.steps.front().span.start_ns),
                  std::max(counts.end_ns, piece.steps.back().span.end_ns)};
    counts = {std::max(known.start_ns, counts.start_ns), std::min(known.end_ns, counts.end_ns)};
    return counts.length_ns() > 0 ? counts : Interval{0, 0};
}

void BusyPart::begin(const TimedPiece& piece) {
    ranges_.forget_before(
        (piece.would != nullptr ? piece.would->was(piece.host.start_ns) : piece.host.start_ns) -
        earliest_ask_ns_);
    host_.begin();
    dependencies_.begin();
    inputs_.begin();
    std::fill(loops_.begin(), loops_.end(), LaunchLoop());
    unsettled_ = 0;
    would_ = piece.would;
    Interval hull = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sweeps_.size(); ++i) {
        const Interval known =
            i < piece.known.size() ? what_counts_of(piece.known[i], piece) : Interval{0, 0};
        sweeps_[i].begin(known, piece.steps,
                         i < piece.untimed.size() ? piece.untimed[i] : TimedSpan::Untimed());
        if (known.length_ns() == 0) continue;
        hull = {std::min(hull.start_ns, known.start_ns), std::max(hull.end_ns, known.end_ns)};
    }
    hull_ = cut_at_steps(hull, piece.steps);
    any_ = UnionBySegment(hull_);
}

uint32_t BusyPart::find_thread(int64_t id) {
    const auto [found, is_new] = thread_index_.try_emplace(id, static_cast<uint32_t>(threads_.size()));
    if (is_new) {
        threads_.push_back(id);
        loops_.emplace_back();
    }
    last_thread_ = found->second;
    return found->second;
}

void BusyPart::take(const Call& call, bool before) {
    const std::optional<What> what = what_of(call);
    host_.take(call, what);
    inputs_.take(call);
    const uint32_t thread = thread_of(call);
    GpuSweep* sweep = sweep_of(call);
    if (what) {
        const int32_t gpu =
            call.lane == kNoLane ? kNoGpu : facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
        const int64_t between_ns = loops_[thread].between(call, *what, *what == What::launch ? gpu : kNoGpu);
        const bool submits = *what == What::launch || call.kind == CallKind::operation;
        if (sweep != nullptr && submits && !before) sweep->launch(call, *what, between_ns);
    }
    if (call.kind == CallKind::operation)
        operation(call, sweep, thread);
    else
        dependencies_.take(call);
    if (!before && ++unsettled_ >= kSettleEvery) settle(call.enter_ns);
}

void BusyPart::behind(const Call& call) {
    host_.take(call);
    inputs_.take(call);
    // What it waited for is asked of the time after its launch, and that is behind the piece.
    if (call.kind == CallKind::operation) operation(call, sweep_of(call), thread_of(call));
}

void BusyPart::operation(const Call& call, GpuSweep* sweep, uint32_t thread) {
    if (call.lane == kNoLane) return;
    const Dependency dependency = dependencies_.operation(call);
    if (sweep == nullptr || !call.timed) return;
    sweep->add(stream_of_lane_[static_cast<size_t>(call.lane)], call, thread, dependency,
               facts_.is_later_node(call));
}

void BusyPart::settle(int64_t until_ns) {
    unsettled_ = 0;
    int64_t asked_from_ns = until_ns;
    for (GpuSweep& sweep : sweeps_) {
        if (!sweep.is_known()) continue;
        sweep.settle(until_ns, threads_);
        sweep.ask(host_.lines());
        asked_from_ns = std::min(asked_from_ns, sweep.unasked_from_ns());
    }
    gather_busy();
    host_.forget_before(asked_from_ns - earliest_ask_ns_, until_ns);
    inputs_.forget_before(asked_from_ns - earliest_ask_ns_);
}

// Ranges are where they were, calls as they would have been.
RangeHere BusyPart::range_at(int64_t thread, int64_t t_ns, int64_t launch_ns) const {
    if (would_ == nullptr) return ranges_.at(thread, t_ns, launch_ns);
    RangeHere here = ranges_.at(thread, would_->was(t_ns), would_->was(launch_ns));
    if (here.until_ns != INT64_MAX) here.until_ns = would_->moved(here.until_ns);
    return here;
}

void BusyPart::gather_busy() {
    if (sweeps_.size() < 2) return;
    for (GpuSweep& sweep : sweeps_)
        if (sweep.is_known()) sweep.take_busy(busy_);
    for (const Interval& span : unite(std::move(busy_))) any_.add(span.start_ns, span.end_ns);
    busy_.clear();
}

void BusyPart::end() {
    for (size_t i = 0; i < sweeps_.size(); ++i) {
        if (!sweeps_[i].is_known()) continue;
        sweeps_[i].end(host_.lines(), threads_, would_);
        in_ranges_.add(i, sweeps_[i].take_ranges());
    }
    gather_busy();
    const std::vector<int64_t>& any_ns = any_.finish();
    if (sweeps_.size() > 1)
        for (size_t i = 0; i < hull_.size(); ++i) any_busy_[hull_[i].step] += any_ns[i];
}

const PartRegistration kBusyPart(make_busy_part);

}  // namespace

std::unique_ptr<Part> make_busy_part(const TraceFacts& facts) { return std::make_unique<BusyPart>(facts); }

}  // namespace gpushim::analysis
