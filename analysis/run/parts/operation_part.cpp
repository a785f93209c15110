// What ran beside what, for all who sum that up: kernels, and copies. Operations are put in the order in
// which they ran once for both.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "../sql/run_db.h"
#include "concurrency.h"
#include "copy_sums.h"
#include "kernel_sums.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

class OperationPart : public PartByCall<OperationPart> {
  public:
    explicit OperationPart(const TraceFacts& facts)
        : no_gpu_(facts.gpus.size()), places_(facts), kernels_(facts, places_), copies_(facts, places_) {
        for (size_t gpu = 0; gpu <= no_gpu_; ++gpu)
            beside_.emplace_back(Told{&kernels_.of_gpu(gpu), &copies_}, places_.size());
    }

    void see(const Call& call) override {
        if (call.kind != CallKind::operation) return;
        const size_t gpu = gpu_of(call);
        kernels_.see(call, gpu);
        copies_.see(call, gpu);
    }
    void begin(const TimedPiece& piece) override { copies_.begin(piece); }
    [[gnu::always_inline]] void take(const Call& call, bool before) override {
        if (call.kind != CallKind::operation) return;
        const size_t gpu = gpu_of(call);
        uint64_t who = kUncounted;
        if (!KernelSums::is_kernel(call))
            if (const auto copy = copies_.take(call, gpu, before)) who = kCopy + *copy;
        if (!call.timed) return;
        const KernelSums::Taken kernel = kernels_.take(call, gpu, before);
        if (kernel.counts) who = kernel.kernel;
        const int64_t start_ns = call.times.start_ns, end_ns = call.times.end_ns;
        if (end_ns <= start_ns) return;
        const int64_t unsure_ns = std::min(call.times.likely_ns, end_ns - start_ns);
        beside_[gpu].add(call.enter_ns, {start_ns, end_ns, who, kernel.is_comm, false, 0, unsure_ns},
                         places_.of(call));
    }
    void end() override {
        for (auto& beside : beside_) beside.finish();
        kernels_.end_piece();
    }
    void finish(RunDb& run) override {
        copies_.finish(run);
        kernels_.finish(run);
    }

  private:
    // Who asked for it, beside the number that it has there.
    static constexpr uint64_t kCopy = uint64_t{1} << 62, kUncounted = uint64_t{1} << 63;
    struct Told {
        KernelsOfGpu* kernels;
        CopySums* copies;

        void started(const Ran& ran) {
            if (ran.who < kCopy) kernels->started(ran);
        }
        [[gnu::always_inline]] void ended(const Ran& ran) {
            if (ran.who < kCopy)
                kernels->ended(ran);
            else if (ran.who < kUncounted)
                copies->ended(ran.who - kCopy, ran);
        }
    };
    size_t gpu_of(const Call& call) const {
        const int32_t gpu = places_.gpu_of(call);
        return gpu < 0 ? no_gpu_ : static_cast<size_t>(gpu);
    }

    const size_t no_gpu_;
    const Places places_;
    KernelSums kernels_;
    CopySums copies_;
    std::vector<Concurrency<Told>> beside_;  // by GPU; the last: not known
};

const PartRegistration kOperationPart(make_operation_part);

}  // namespace

std::unique_ptr<Part> make_operation_part(const TraceFacts& facts) {
    return std::make_unique<OperationPart>(facts);
}

}  // namespace gpushim::analysis
