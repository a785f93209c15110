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
// Without such marks all of it is one step: from the first operator or range to the end of the last.
constexpr const char* kWhole =
    "SELECT min(start_ns), max(end_ns) FROM (SELECT enter_ns AS start_ns, enter_ns + dur_ns AS end_ns"
    " FROM host_span WHERE inside < ?1 UNION ALL SELECT start_ns, end_ns FROM v_range WHERE EXISTS"
    " (SELECT 1 FROM host_span WHERE inside < ?1))";
// To that tool, what an operator or a range of one of these names does is communication, and so are the
// kernels that such an operator launched. All other kernels are kernels, whatever they are called.
const std::string kItsNames =
    "('nccl:broadcast', 'nccl:reduce', 'nccl:all_reduce', 'nccl:all_gather', 'nccl:reduce_scatter',"
    " 'gloo:broadcast', 'gloo:reduce', 'gloo:all_reduce', 'gloo:all_gather', 'gloo:reduce_scatter')";
const std::string kRanges = "SELECT start_ns, end_ns, name IN " + kItsNames +
                            " FROM v_range WHERE name NOT GLOB 'ProfilerStep#*' AND end_ns IS NOT NULL"
                            " ORDER BY start_ns";
const std::string kCommunication =
    "SELECT enter_ns FROM launch_operator"
    " WHERE operator_id IN (SELECT id FROM name WHERE text IN " +
    kItsNames + ") ORDER BY enter_ns";

TorchRole role_of(const Call& call) {
    switch (call.type) {
        case OperationClass::compute:
        case OperationClass::graph:
        case OperationClass::comm:
            return TorchRole::kernel;
        case OperationClass::memset:
            return TorchRole::memset;
        default:
            return TorchRole::memcpy;
    }
}

bool is_of_pytorch(const Trace& trace) {
    Query source = trace.base.prepare("SELECT 1 FROM meta WHERE key = 'source' AND value = 'kineto'");
    return source.step();
}

class TorchPart : public PartByCall<TorchPart> {
  public:
    explicit TorchPart(const TraceFacts& facts)
        : facts_(facts), waiting_(facts.lanes.size() + 1 + kHostQueues), sums_(spans_of(facts)) {
        if (spans_.empty()) return;
        const Database& base = facts.trace->base;
        ranges_.emplace(base.prepare(kRanges));
        next_range();
        if (base.has("launch_operator")) communication_.emplace(base.prepare(kCommunication));
    }

    bool has_work() const override { return !spans_.empty(); }
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
        const TorchRole role = is_communication(call) ? TorchRole::communication : role_of(call);
        if (call.timed) add(kHostQueues + lane, role, {call.times.start_ns, call.times.end_ns});
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
        if (marks.empty()) mark_whole(*facts.trace, marks);
        if (marks.empty()) return marks;
        TorchSteps steps(std::move(marks));
        Timeline timeline(*facts.trace);
        Call call;
        while (timeline.next(call)) {
            if (call.kind != CallKind::operation || !call.timed) continue;
            const Interval ran = {call.times.start_ns, call.times.end_ns};
            if (call.exit_ns > call.enter_ns || facts.is_later_node(call))
                steps.add({{call.enter_ns, call.exit_ns}, ran});
            else
                steps.add_alone(ran);
        }
        return spans_ = steps.spans();
    }

    void mark_whole(const Trace& trace, std::vector<Interval>& marks) {
        if (!is_of_pytorch(trace) || !trace.base.has("host_span")) return;
        Query whole = trace.base.prepare(kWhole);
        whole.bind(1, static_cast<int64_t>(HostInside::python));
        if (!whole.step() || whole.is_null(0)) return;
        marks.push_back({whole.number(0), whole.number(1)});
        numbers_.push_back(0);
    }

    // Its launches come in order of their calls, as the calls do.
    bool is_communication(const Call& call) {
        while (communication_ && at_ns_ < call.enter_ns)
            if (communication_->step())
                at_ns_ = communication_->number(0);
            else
                communication_.reset();
        return at_ns_ == call.enter_ns;
    }

    void add(size_t queue, TorchRole role, Interval span) {
        if (span.end_ns > span.start_ns)
            waiting_.add(queue, span.start_ns) = {span.start_ns, span.end_ns, role};
    }

    void add_inside(const Call& call) {
        const auto inside = static_cast<HostInside>(call.detail);
        const bool loads = inside == HostInside::input;
        const bool runs = inside == HostInside::framework || inside == HostInside::optimizer ||
                          inside == HostInside::allocates;
        if (!loads && !runs) return;  // that tool counts no frames
        add(kInside, loads ? TorchRole::data_loader : TorchRole::cpu_exec, {call.enter_ns, call.exit_ns});
    }

    void next_range() {
        if (!ranges_ || !ranges_->step()) return ranges_.reset();
        range_ = {ranges_->number(0), ranges_->number(1)};
        range_role_ = ranges_->number(2) != 0 ? TorchRole::communication : TorchRole::cpu_exec;
    }

    void add_ranges_until(int64_t now_ns) {
        for (; ranges_ && range_.start_ns < now_ns; next_range()) sums_.add(range_role_, range_);
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
    TorchRole range_role_ = TorchRole::cpu_exec;
    std::optional<Query> communication_;  // launches of it
    int64_t at_ns_ = INT64_MIN;           // the one that was read last
    StartOrder<Waiting> waiting_;         // launched and not yet run, and the last 10 ms
    TorchSums sums_;
    int64_t timed_ = 0, untimed_ = 0;
};

const PartRegistration kTorchPart(make_torch_part);

}  // namespace

std::unique_ptr<Part> make_torch_part(const TraceFacts& facts) { return std::make_unique<TorchPart>(facts); }

}  // namespace gpushim::analysis
