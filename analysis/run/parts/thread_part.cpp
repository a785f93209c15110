// Threads that launch: on how many GPUs, how often they change between them, and what else they do. Of the
// rows that are there.
//
//   thread     ══NCCL════  ═launch═    ═launch═        in calls: their union, what is called inside counts
//               ═launch═                               once
//   gap rows              |──|     |──|                running, ready without a CPU, blocked
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "../sql/run_db.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

struct Thread {
    int64_t launches = 0, switches = 0, api_ns = 0, covered_ns = INT64_MIN;
    int32_t gpu = -1;
    std::unordered_set<int32_t> gpus;
    int64_t gaps = 0, running_ns = 0, blocked_ns = 0, runqueue_ns = 0;
};

class ThreadPart : public PartByCall<ThreadPart> {
  public:
    explicit ThreadPart(const TraceFacts& facts) : facts_(facts), places_(facts) {}

    void see(const Call& call) override {
        const bool is_operation = call.kind == CallKind::operation;  // most are
        if (!is_operation && (call.kind == CallKind::gone || call.kind == CallKind::inside)) return;
        Thread& thread = thread_of(call.thread_id);
        if (!is_operation && call.kind == CallKind::host_gap) return add_gap(thread, call);
        const int64_t from_ns = std::max(call.enter_ns, thread.covered_ns);
        if (call.exit_ns > from_ns) thread.api_ns += call.exit_ns - from_ns;
        thread.covered_ns = std::max(thread.covered_ns, call.exit_ns);
        if (is_operation) add_launch(thread, places_.gpu_of(call));
    }

    void finish(RunDb& run) override {
        for (const auto& [id, t] : all_) {
            if (t.launches == 0) continue;
            const bool has_gaps = t.gaps > 0;
            const auto of_gaps = [has_gaps](int64_t ns) { return has_gaps ? Value(ns) : Value(nullptr); };
            run.add("thread_stat",
                    {facts_.rank_id, id, t.launches, static_cast<int64_t>(t.gpus.size()), t.switches,
                     t.api_ns, of_gaps(t.running_ns), of_gaps(t.blocked_ns), of_gaps(t.runqueue_ns)});
        }
    }

  private:
    // Most calls are of the thread of the one before.
    Thread& thread_of(int64_t id) {
        if (last_ == nullptr || last_id_ != id) {
            last_ = &all_[id];  // its place stays the same when others are added
            last_id_ = id;
        }
        return *last_;
    }
    static void add_launch(Thread& thread, int32_t gpu) {
        ++thread.launches;
        if (gpu < 0) return;
        if (thread.gpu == gpu) return;
        thread.switches += thread.gpu >= 0;
        thread.gpus.insert(gpu);
        thread.gpu = gpu;
    }

    // Only rows that say how long the thread ran.
    static void add_gap(Thread& thread, const Call& gap) {
        if (gap.detail == kNotRecorded) return;
        ++thread.gaps;
        thread.running_ns += gap.detail;
        thread.runqueue_ns += gap.runqueue_ns;
        thread.blocked_ns += std::max<int64_t>(0, gap.exit_ns - gap.enter_ns - gap.detail - gap.runqueue_ns);
    }

    const TraceFacts& facts_;
    const Places places_;
    std::unordered_map<int64_t, Thread> all_;
    Thread* last_ = nullptr;
    int64_t last_id_ = 0;
};

const PartRegistration kThreadPart(make_thread_part);

}  // namespace

std::unique_ptr<Part> make_thread_part(const TraceFacts& facts) {
    return std::make_unique<ThreadPart>(facts);
}

}  // namespace gpushim::analysis
