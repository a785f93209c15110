#include "hta_part.h"

#include "../../trace/inputs.h"
#include "../pass/kernel_index.h"
#include "../pass/start_order.h"
#include "../sql/run_db.h"
#include "hta.h"

namespace gpushim::analysis {

namespace {

// Operations are given in the order of their launches and counted in the order in which they ran: none runs
// before its launch, but for what clocks are apart.
constexpr int64_t kClocksApartNs = 10'000'000;

class HtaPart : public PartByCall<HtaPart> {
  public:
    explicit HtaPart(const TraceFacts& facts)
        : facts_(facts), index_(facts), waiting_(facts.lanes.size() + 1) {
        read_streams();
        read_last_step();
        for (const Kernel& kernel : facts.kernels) kinds_.push_back(hta_kind(kernel.name));
    }

    [[gnu::always_inline]] void see(const Call& call) override {
        count_until(call.enter_ns - kClocksApartNs);
        if (call.kind != CallKind::operation) return;
        const bool has_call = call.thread_id > 0;
        if (last_step_ns_ && (!has_call || call.enter_ns >= *last_step_ns_)) return void(++left_out_);
        if (!call.timed) return void(++untimed_);
        const size_t stream = call.lane == kNoLane ? facts_.lanes.size() : static_cast<size_t>(call.lane);
        waiting_.add(stream, call.times.start_ns) = {call.times.start_ns, call.times.end_ns,
                                                     has_call ? call.enter_ns : kNotRecorded, stream_of(call),
                                                     kind_of(call)};
    }

    void finish(RunDb& run) override {
        count_until(INT64_MAX);
        run.add("hta_time",
                {facts_.rank_id, sums_.window_ns(), sums_.busy_ns, sums_.compute_ns, sums_.comm_ns,
                 sums_.overlap_ns, sums_.operations, left_out_, untimed_, sums_.out_of_order});
        for (const auto& [key, gap] : sums_.gaps())
            run.add("hta_gap", {facts_.rank_id, key.first, std::string(key.second), gap.ns, gap.gaps});
    }

  private:
    void read_streams() {
        Query query = facts_.trace->base.prepare(
            "SELECT s.id, h.handle FROM stream s LEFT JOIN handle h ON h.id = s.handle_id");
        std::map<int64_t, int64_t> numbers;
        while (query.step()) numbers[query.number(0)] = query.maybe(1).value_or(0);
        for (const Lane& lane : facts_.lanes) stream_numbers_.push_back(numbers[lane.stream_id]);
    }

    void read_last_step() {
        Query query = facts_.trace->base.prepare(
            "SELECT max(m.enter_ns), count(DISTINCT m.name_id) FROM marker m JOIN name n ON n.id = m.name_id"
            " WHERE m.kind IN ('push', 'range_start', 'mark') AND n.text LIKE 'ProfilerStep%'");
        if (query.step() && query.number(1) > 1) last_step_ns_ = query.number(0);
    }

    int64_t stream_of(const Call& call) const {
        return call.lane == kNoLane ? -1 : stream_numbers_[static_cast<size_t>(call.lane)];
    }

    HtaKind kind_of(const Call& call) const {
        if (call.type == OperationClass::graph) return HtaKind::compute;
        if (call.type != OperationClass::compute && call.type != OperationClass::comm) return HtaKind::other;
        const size_t kernel = index_.of(call);
        if (kernel != index_.not_known()) return kinds_[kernel];
        return call.type == OperationClass::comm ? HtaKind::comm : HtaKind::compute;
    }

    void count_until(int64_t now_ns) {
        while (const HtaOperation* next = waiting_.next(now_ns)) sums_.add(*next);
    }

    const TraceFacts& facts_;
    const KernelIndex index_;
    std::vector<int64_t> stream_numbers_;  // by lane
    std::vector<HtaKind> kinds_;           // by kernel
    std::optional<int64_t> last_step_ns_;  // what is launched from then on does not count
    // Launched and not yet run, as many as a queue holds, and those of the last 10 ms.
    StartOrder<HtaOperation> waiting_;
    HtaSums sums_;
    int64_t left_out_ = 0, untimed_ = 0;
};

const PartRegistration kHtaPart(make_hta_part);

}  // namespace

std::unique_ptr<Part> make_hta_part(const TraceFacts& facts) { return std::make_unique<HtaPart>(facts); }

}  // namespace gpushim::analysis
