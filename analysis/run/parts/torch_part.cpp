#include "../../trace/host_inside.h"
#include "../../trace/timeline.h"
#include "../pass/profile_steps.h"
#include "../pass/start_order.h"
#include "../sql/run_db.h"
#include "own_parts.h"
#include "torch.h"

namespace gpushim::analysis {

namespace {

// Calls are given as they were entered and counted by when they, or what they launched, began: nothing begins
// before its call, but for what clocks are apart.
constexpr int64_t kClocksApartNs = 10'000'000;
constexpr double kUntimed = 0.01;  // with more of the operations the sums would be wrong

constexpr const char* kMarks =
    "SELECT start_ns, end_ns, CAST(substr(name, 14) AS INTEGER) FROM v_range"
    " WHERE name GLOB 'ProfilerStep#[0-9]*' AND end_ns IS NOT NULL ORDER BY start_ns";
constexpr const char* kRanges =
    "SELECT start_ns, end_ns FROM v_range WHERE name NOT GLOB 'ProfilerStep#*' AND end_ns IS NOT NULL"
    " ORDER BY start_ns";

TorchRole role_of(const Call& call) {
    switch (call.type) {
        case OperationClass::compute:
        case OperationClass::graph:
            return TorchRole::kernel;
        case OperationClass::comm:
            return TorchRole::communication;
        case OperationClass::memset:
            return TorchRole::memset;
        default:
            return TorchRole::memcpy;
    }
}

class TorchPart : public Part {
  public:
    explicit TorchPart(const TraceFacts& facts)
        : facts_(facts), waiting_(facts.lanes.size() + 1 + kHostQueues), sums_(spans_of(facts)) {
        if (spans_.empty()) return;
        ranges_.emplace(facts.trace->base.prepare(kRanges));
        next_range();
    }

    void see(const Call& call) override {
        if (spans_.empty()) return;
        count_until(call.enter_ns - kClocksApartNs);
        if (call.kind == CallKind::inside)
            add_inside(call);
        else if (is_call(call.kind))
            add(kRuntime, TorchRole::runtime, {call.enter_ns, call.exit_ns});
        if (call.kind != CallKind::operation) return;
        ++(call.timed ? timed_ : untimed_);
        const size_t lane = call.lane == kNoLane ? facts_.lanes.size() : static_cast<size_t>(call.lane);
        if (call.timed) add(kHostQueues + lane, role_of(call), {call.times.start_ns, call.times.end_ns});
    }

    void finish(RunDb& run) override {
        count_until(INT64_MAX);
        sums_.finish();
        const int64_t wrong = untimed_ + sums_.out_of_order();
        if (static_cast<double>(wrong) > kUntimed * static_cast<double>(timed_)) return;
        for (size_t i = 0; i < spans_.size(); ++i) {
            const TorchSums::ByRole& ns = sums_.ns()[i];
            run.add("torch_step", {facts_.rank_id, numbers_[i], spans_[i].start_ns, spans_[i].length_ns(),
                                   ns[0], ns[1], ns[2], ns[3], ns[4], ns[5], ns[6], ns[7]});
        }
    }

  private:
    enum Queue : size_t { kRuntime, kInside, kHostQueues };  // then one for each stream
    struct Waiting {
        int64_t start_ns, end_ns;
        TorchRole role;
    };

    // Reads the trace's operations once more, if it has such marks.
    std::vector<Interval> spans_of(const TraceFacts& facts) {
        std::vector<Interval> marks;
        if (!is_profile(*facts.trace)) return marks;
        for (Query row = facts.trace->base.prepare(kMarks); row.step();) {
            marks.push_back({row.number(0), row.number(1)});
            numbers_.push_back(row.number(2));
        }
        if (marks.empty()) return marks;
        TorchSteps steps(std::move(marks));
        Timeline timeline(*facts.trace);
        Call call;
        while (timeline.next(call)) {
            const bool has_call = call.exit_ns > call.enter_ns;
            if (call.kind == CallKind::operation && call.timed && has_call)
                steps.add({{call.enter_ns, call.exit_ns}, {call.times.start_ns, call.times.end_ns}});
        }
        return spans_ = steps.spans();
    }

    void add(size_t queue, TorchRole role, Interval span) {
        if (span.end_ns > span.start_ns)
            waiting_.add(queue, span.start_ns) = {span.start_ns, span.end_ns, role};
    }

    void add_inside(const Call& call) {
        const auto inside = static_cast<HostInside>(call.detail);
        if (inside == HostInside::python || inside == HostInside::sampled)
            return;  // that tool counts no frames
        const bool loads = inside == HostInside::input;
        add(kInside, loads ? TorchRole::data_loader : TorchRole::cpu_exec, {call.enter_ns, call.exit_ns});
    }

    void next_range() {
        if (ranges_ && ranges_->step())
            range_ = {ranges_->number(0), ranges_->number(1)};
        else
            ranges_.reset();
    }

    void add_ranges_until(int64_t now_ns) {
        for (; ranges_ && range_.start_ns < now_ns; next_range()) sums_.add(TorchRole::cpu_exec, range_);
    }

    void count_until(int64_t now_ns) {
        while (const Waiting* next = waiting_.next(now_ns)) {
            add_ranges_until(next->start_ns);
            sums_.add(next->role, {next->start_ns, next->end_ns});
        }
        add_ranges_until(now_ns);
    }

    const TraceFacts& facts_;
    std::vector<int64_t> numbers_;
    std::vector<Interval> spans_;
    std::optional<Query> ranges_;  // of the program; none are left
    Interval range_ = {};
    StartOrder<Waiting> waiting_;  // launched and not yet run, and the last 10 ms
    TorchSums sums_;
    int64_t timed_ = 0, untimed_ = 0;
};

const PartRegistration kTorchPart(make_torch_part);

}  // namespace

std::unique_ptr<Part> make_torch_part(const TraceFacts& facts) { return std::make_unique<TorchPart>(facts); }

}  // namespace gpushim::analysis
