// When each collective could have begun, by the work before it, and since when that work could be done: since
// the latest collective that it came after. From this the ranks' steps can be replayed without one of them
// (skew/replay.h). A collective right before it in its own stream is another matter: it is named.
//
//   comm      [──A──]                        [──B──][─C─]
//   compute          |██optimizer██forward██r           C came after A, was ready at r, and is behind B
//                                           └─C waited for this event
//
// By times as they were recorded. An operation without device times hides what it came after, so all behind
// it starts anew.
#include "../pass/dependencies.h"
#include "../sql/run_db.h"
#include "own_parts.h"

namespace gpushim::analysis {

namespace {

// Beyond that it was not the collective before it in its stream that it waited for. Our events, and the
// driver's time between two kernels, are below.
constexpr int64_t kBackToBackNs = 20'000;

bool names_waits(const Trace& trace) {
    Query query = trace.base.prepare("SELECT 1 FROM meta WHERE key = 'source'");
    return !query.step();
}

class CommReadyPart : public Part {
  public:
    explicit CommReadyPart(const TraceFacts& facts) : facts_(facts), dependencies_(facts) {
        for (const Kernel& kernel : facts.kernels) has_comm_ |= kernel.facts.family == KernelFamily::comm;
        has_comm_ &= names_waits(*facts.trace);
        dependencies_.begin();
    }

    void see(const Call& call) override {
        if (!has_comm_) return;
        if (call.kind != CallKind::operation) return dependencies_.take(call);
        if (call.lane == kNoLane) return;
        if (!call.timed) return dependencies_.begin();
        const Dependency dependency = dependencies_.operation(call);
        if (call.type == OperationClass::comm) add(call, dependency);
    }

    void finish(RunDb& run) override {
        for (const Row& row : rows_)
            run.add("collective_ready",
                    {facts_.rank_id, row.enter_ns, row.ready_ns, row.after_enter_ns,
                     row.behind_enter_ns == INT64_MIN ? Value(nullptr) : Value(row.behind_enter_ns)});
    }

  private:
    struct Row {
        int64_t enter_ns, ready_ns, after_enter_ns, behind_enter_ns;
    };

    void add(const Call& call, const Dependency& dependency) {
        if (dependency.after_enter_ns == INT64_MIN || dependency.host_callback) return;
        const int64_t start_ns = call.times.start_ns;
        const bool waited_behind = dependency.behind_enter_ns != INT64_MIN &&
                                   dependency.ready_ns > dependency.work_ready_ns &&
                                   start_ns - dependency.ready_ns < kBackToBackNs;
        int64_t ready_ns = start_ns;
        if (waited_behind) {
            const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
            const int64_t latency_ns = gpu < 0 ? 0 : facts_.gpus[static_cast<size_t>(gpu)].idle.latency_ns;
            ready_ns = std::min(start_ns, std::max(dependency.work_ready_ns, call.enter_ns + latency_ns));
        }
        rows_.push_back({call.enter_ns, ready_ns, dependency.after_enter_ns,
                         waited_behind ? dependency.behind_enter_ns : INT64_MIN});
    }

    const TraceFacts& facts_;
    Dependencies dependencies_;
    bool has_comm_ = false;
    std::vector<Row> rows_;
};

const PartRegistration kCommReadyPart(make_comm_ready_part);

}  // namespace

std::unique_ptr<Part> make_comm_ready_part(const TraceFacts& facts) {
    return std::make_unique<CommReadyPart>(facts);
}

}  // namespace gpushim::analysis
