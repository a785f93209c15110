// What each collective of a rank came after, on its host and on its GPU (pass/work_paths.h): from this the
// ranks' steps are replayed without one of them (skew/replay.h). Of traces that name the events that a stream
// waits for, in pieces in which everything has device times, without our events.
#include <string>

#include "../busy/input_copies.h"
#include "../pass/work_paths.h"
#include "../sql/run_db.h"
#include "own_parts.h"

namespace gpushim::analysis {

namespace {

bool names_waits(const Trace& trace) {
    Query query = trace.base.prepare("SELECT 1 FROM meta WHERE key = 'source'");
    return !query.step();
}

// Without them no kernel is known to be a collective's.
bool has_calls_of_nccl(const Trace& trace) {
    return trace.base.has("collective") && trace.base.prepare("SELECT 1 FROM collective LIMIT 1").step();
}

// Whether threads launch one after the other and never at the same time: as a program's backward pass on a
// thread of its own does.
class Turns {
  public:
    void see(const Call& call) {
        if (call.kind != CallKind::operation) return;
        if (thread_id_ != call.thread_id) {
            ++changes_;
            overlaps_ += call.enter_ns < exit_ns_ ? 1 : 0;
        }
        thread_id_ = call.thread_id;
        exit_ns_ = call.exit_ns;
    }
    bool are_taken() const {
        constexpr int64_t kSometimes = 20;  // once in so many changes of the thread is by chance
        return overlaps_ * kSometimes <= changes_;
    }

  private:
    int64_t thread_id_ = -1, exit_ns_ = INT64_MIN, changes_ = 0, overlaps_ = 0;
};

class CommPathsPart : public PartByCall<CommPathsPart> {
  public:
    explicit CommPathsPart(const TraceFacts& facts) : facts_(facts), inputs_(facts), paths_(facts) {
        for (const Kernel& kernel : facts.kernels) has_comm_ |= kernel.facts.family == KernelFamily::comm;
        has_comm_ = has_comm_ && names_waits(*facts.trace) && has_calls_of_nccl(*facts.trace);
    }

    bool has_work() const override { return has_comm_; }
    void see(const Call& call) override {
        if (!has_comm_) return;
        turns_.see(call);
        inputs_.see(call);
    }
    void begin(const TimedPiece&) override {
        paths_.begin();
        inputs_.begin();
    }
    void take(const Call& call, bool before) override {
        if (!has_comm_ || paths_.nodes().size() >= kMostReplayed) return;
        inputs_.take(call);
        const bool is_input =
            call.type == OperationClass::h2d && inputs_.is_input(call.thread_id, call.enter_ns);
        if (is_input) inputs_.forget_before(call.enter_ns);
        paths_.take(call, before, is_input, turns_.are_taken());
    }

    void finish(RunDb& run) override {
        ManyRows rows(run, "collective_path");
        std::string bytes;
        for (const WorkNode& node : paths_.nodes()) {
            bytes.clear();
            for (const auto* paths : {&node.launch, &node.arrival})
                bytes.append(reinterpret_cast<const char*>(paths->data()), paths->size() * sizeof(WorkPath));
            rows.add({facts_.rank_id, node.group_id, int64_t{node.piece}, node.launch_ns, node.end_ns,
                      static_cast<int64_t>(node.kind), static_cast<int64_t>(node.launch.size()),
                      BlobView{bytes}});
        }
        rows.end();
    }

  private:
    const TraceFacts& facts_;
    InputCopies inputs_;
    Turns turns_;
    WorkPaths paths_;
    bool has_comm_ = false;
};

const PartRegistration kCommPathsPart(make_comm_paths_part);

}  // namespace

std::unique_ptr<Part> make_comm_paths_part(const TraceFacts& facts) {
    return std::make_unique<CommPathsPart>(facts);
}

}  // namespace gpushim::analysis
