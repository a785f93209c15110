// What a step spends around its collectives on each GPU: packing and unpacking gradients (collective/pack.h),
// and how long collectives that could have started did not, because their own GPU was computing:
//
//   compute   ██backward██████evaluation█████
//   comm                  r·····delay········|██reduce██     r: all that it had to come after is over
//
// Of steps that lie wholly in a piece and in which everything has device times.
#include <algorithm>

#include "../../collective/pack.h"
#include "../pass/dependencies.h"
#include "../pass/kernel_index.h"
#include "../sql/run_db.h"
#include "own_parts.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostOps = 1 << 20;  // of a step: nothing is said of it beyond that

std::optional<StepOpKind> kind_of(const KernelClass& kernel) {
    switch (kernel.family) {
        case KernelFamily::concatenate:
            return StepOpKind::concatenates;
        case KernelFamily::split:
            return StepOpKind::splits;
        case KernelFamily::copy:
            return StepOpKind::copies;
        case KernelFamily::optimizer:
            return StepOpKind::optimizes;
        case KernelFamily::elementwise:
        case KernelFamily::reduction:
        case KernelFamily::fill:
            return {};
        default:
            return StepOpKind::works;
    }
}

// Older kernels of NCCL, and its generic ones, do not say what they do.
bool may_reduce(CommOperation operation) {
    return operation == CommOperation::all_reduce || operation == CommOperation::reduce_scatter ||
           operation == CommOperation::reduce || operation == CommOperation::other ||
           operation == CommOperation::none;
}

bool is_imported(const Trace& trace) {
    Query query = trace.base.prepare("SELECT 1 FROM meta WHERE key = 'source'");
    return query.step();
}

class CommStepPart : public PartByCall<CommStepPart> {
  public:
    explicit CommStepPart(const TraceFacts& facts)
        : facts_(facts), index_(facts), dependencies_(facts), gpus_(facts.gpus.size()) {
        for (const Kernel& kernel : facts.kernels) {
            kinds_.push_back(kind_of(kernel.facts));
            reduces_.push_back(may_reduce(kernel.facts.comm_operation));
            has_comm_ |= kernel.facts.family == KernelFamily::comm;
        }
        kinds_.push_back(StepOpKind::works);  // the one that is not known
        reduces_.push_back(true);
        has_comm_ &= !facts.are_slices;
        knows_waits_ = has_comm_ && !is_imported(*facts.trace);
    }

    bool has_work() const override { return has_comm_; }
    void begin(const TimedPiece& piece) override {
        whole_.clear();
        for (const WholeStep& step : piece.steps) whole_.push_back(step.step);
        dependencies_.begin();
        for (OfGpu& gpu : gpus_) {
            gpu.clear();
            gpu.newest_closed = kNoStep;
        }
    }

    [[gnu::always_inline]] void take(const Call& call, bool before) override {
        if (!has_comm_) return;
        if (call.kind != CallKind::operation) return dependencies_.take(call);
        if (call.lane == kNoLane) return;
        const Dependency dependency = dependencies_.operation(call);
        const int32_t gpu = facts_.gpu_of_lane[static_cast<size_t>(call.lane)];
        if (before || gpu < 0 || call.step == kNoStep) return;
        OfGpu& of = gpus_[static_cast<size_t>(gpu)];
        if (call.step != of.step) {
            close(static_cast<size_t>(gpu));
            of.step = call.step;
        }
        of.is_complete &= call.timed && of.ops.size() < kMostOps;
        if (of.is_complete) add(call, dependency, of, gpu);
    }

    void end() override {
        for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) close(gpu);
    }

    void finish(RunDb& run) override {
        for (const Row& row : rows_)
            run.add("comm_step", {row.gpu_id, int64_t{row.step}, row.pack.pack_ns, row.pack.unpack_ns,
                                  knows_waits_ ? Value(row.start_delay_ns) : Value(nullptr)});
    }

  private:
    struct OfGpu {
        int32_t step = kNoStep;
        int32_t newest_closed = kNoStep;  // of the piece
        bool is_complete = true;
        std::vector<StepOp> ops;
        int32_t last_lane = kNoLane;  // of ops
        std::vector<Interval> computing, delayed;

        void clear() {  // its memory stays
            step = kNoStep;
            is_complete = true;
            ops.clear(), computing.clear(), delayed.clear();
            last_lane = kNoLane;
        }
    };
    struct Row {
        int64_t gpu_id;
        int32_t step;
        PackTimes pack;
        int64_t start_delay_ns;
    };

    int64_t latency_ns(int32_t gpu) const { return facts_.gpus[static_cast<size_t>(gpu)].idle.latency_ns; }

    [[gnu::always_inline]] void add(const Call& call, const Dependency& dependency, OfGpu& of,
                                    int32_t gpu) const {
        const Interval span = {call.times.start_ns, call.times.end_ns};
        std::optional<StepOpKind> kind;
        if (call.type == OperationClass::compute) {
            of.computing.push_back(span);
            kind = kinds_[index_.of(call)];
        } else {
            kind = add_other(call, dependency, of, gpu);
        }
        if (!kind) return;
        // Work in a row is one, so that little is kept.
        if (*kind == StepOpKind::works && !of.ops.empty() && of.ops.back().kind == *kind &&
            of.last_lane == call.lane)
            of.ops.back().span.end_ns = std::max(of.ops.back().span.end_ns, span.end_ns);
        else
            of.ops.push_back({span, *kind});
        of.last_lane = call.lane;
    }

    // Than a kernel of the program's own.
    std::optional<StepOpKind> add_other(const Call& call, const Dependency& dependency, OfGpu& of,
                                        int32_t gpu) const {
        switch (call.type) {
            case OperationClass::comm:
                if (!dependency.host_callback) {
                    const int64_t ready_ns = std::max(call.enter_ns + latency_ns(gpu), dependency.ready_ns);
                    of.delayed.push_back({ready_ns, call.times.start_ns});
                }
                return reduces_[index_.of(call)] ? std::optional(StepOpKind::reduces) : std::nullopt;
            case OperationClass::d2d:
                return StepOpKind::copies;
            case OperationClass::graph:
                of.computing.push_back({call.times.start_ns, call.times.end_ns});
                return StepOpKind::works;
            default:
                return {};
        }
    }

    void close(size_t gpu) {
        OfGpu& of = gpus_[gpu];
        if (of.step == kNoStep) return;
        const bool comes_back = of.step <= of.newest_closed;
        of.newest_closed = std::max(of.newest_closed, of.step);
        if (comes_back)
            forget(gpu, of.step);
        else if (of.is_complete && std::binary_search(whole_.begin(), whole_.end(), of.step))
            if (const auto pack = pack_times(of.ops))
                rows_.push_back({facts_.gpus[gpu].gpu_id, of.step, *pack, delay_ns(of)});
        of.clear();
    }

    // Without our events a call of one thread may stand behind another's first one of the next step. Of a
    // step that is there in parts nothing is said.
    void forget(size_t gpu, int32_t step) {
        const int64_t gpu_id = facts_.gpus[gpu].gpu_id;
        for (auto row = rows_.end(); row != rows_.begin();) {
            --row;
            if (row->gpu_id != gpu_id || row->step > step) continue;
            if (row->step == step) rows_.erase(row);
            return;  // those of a GPU are in order of their steps
        }
    }

    static int64_t delay_ns(const OfGpu& of) {
        if (of.delayed.empty()) return 0;
        return length_ns(intersect(unite(of.delayed), unite(of.computing)));
    }

    const TraceFacts& facts_;
    const KernelIndex index_;
    Dependencies dependencies_;
    std::vector<std::optional<StepOpKind>> kinds_;  // by kernel; none: it goes over arrays
    std::vector<bool> reduces_;                     // by kernel
    bool has_comm_ = false, knows_waits_ = false;
    std::vector<int32_t> whole_;  // steps of this piece
    std::vector<OfGpu> gpus_;
    std::vector<Row> rows_;
};

const PartRegistration kCommStepPart(make_comm_step_part);

}  // namespace

std::unique_ptr<Part> make_comm_step_part(const TraceFacts& facts) {
    return std::make_unique<CommStepPart>(facts);
}

}  // namespace gpushim::analysis
