// Patterns of copies that a program could do without, as they were asked for. Counts of the rows that are
// there; `ns` is the host's time in their calls.
//
//   small_d2h_sync    d2h(4 B)  sync               a value is looked at; or a copy that blocks
//   round_trip        d2h(n) … h2d(n)              to the host and back within a step
//   d2d_back          p2p(n) on A … p2p(n) on B    within a step. Inferred: which memory it was is not told
//   repeated_input    h2d(n)  |  h2d(n)  |         comes at least once in nearly every step
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "../sql/run_db.h"
#include "copies.h"
#include "own_parts.h"
#include "places.h"

namespace gpushim::analysis {

namespace {

enum Pattern : size_t { small_d2h_sync, round_trip, d2d_back, repeated_input, patterns };
constexpr const char* kPatterns[] = {"small_d2h_sync", "round_trip", "d2d_back", "repeated_input"};
constexpr size_t kMostSizes = 4096;  // of a step, and of the run: others are not looked at
constexpr double kNearlyEvery = 0.9;
constexpr int64_t kInputBytes = 64 * 1024;
constexpr int64_t kStepsEnough = 3;  // fewer repeat nothing

struct TransferSums {
    int64_t count = 0, bytes = 0, ns = 0, steps = 0;
    int64_t between_ns = 0, until_ns = INT64_MIN;
    int32_t last_step = kNoStep;

    void add(const Call& call, int64_t moved_bytes, int64_t took_ns) {
        ++count;
        bytes += moved_bytes;
        ns += took_ns;
        if (call.step == kNoStep || call.step == last_step) return;
        last_step = call.step;
        ++steps;
    }
};

struct Left {  // copies out that nothing has come back for
    int64_t count = 0, call_ns = 0, exit_ns = 0;
};
struct Gpu {
    std::array<TransferSums, patterns> sums;
    std::unordered_map<int64_t, Left> to_host, to_peer;  // of this step, by bytes
    std::unordered_map<int64_t, TransferSums> inputs;    // by bytes
};

class TransferPart : public PartByCall<TransferPart> {
  public:
    explicit TransferPart(const TraceFacts& facts)
        : facts_(facts), places_(facts), gpus_(facts.gpus.size() + 1) {}

    [[gnu::always_inline]] void see(const Call& call) override {
        if (call.kind == CallKind::sync) end_small(call);
        if (call.kind != CallKind::operation) return;
        if (call.step != step_) begin_step(call.step);
        if (!small_.empty()) small_.erase(call.thread_id);
        if (is_copy(call) && call.bytes >= 0) see_copy(call);
    }

    void finish(RunDb& run) override {
        for (size_t i = 0; i < gpus_.size(); ++i) {
            add_inputs(gpus_[i]);
            for (size_t p = 0; p < patterns; ++p)
                if (const TransferSums& sums = gpus_[i].sums[p]; sums.count > 0)
                    run.add("transfer_pattern",
                            {i < facts_.gpus.size() ? facts_.gpus[i].gpu_id : kNotTold,
                             std::string(kPatterns[p]), sums.count, sums.bytes, sums.ns, sums.steps,
                             p == round_trip ? Value(sums.between_ns) : Value(nullptr)});
        }
    }

  private:
    struct Small {  // a small copy to the host that its thread has not waited for
        size_t gpu;
        Call call;
    };

    size_t gpu_of(const Call& call) const {
        const int32_t gpu = places_.gpu_of(call);
        return gpu < 0 ? facts_.gpus.size() : static_cast<size_t>(gpu);
    }
    static int64_t took_ns(const Call& call) { return call.exit_ns - call.enter_ns; }

    void begin_step(int32_t step) {
        step_ = step;
        for (Gpu& gpu : gpus_) {
            gpu.to_host.clear();
            gpu.to_peer.clear();
        }
    }

    void see_copy(const Call& call) {
        if (call.type == OperationClass::d2h && call.bytes <= kSmallCopyBytes) return see_small(call);
        if (call.bytes <= kSmallCopyBytes) return;
        Gpu& gpu = gpus_[gpu_of(call)];
        if (call.type == OperationClass::d2h) note(gpu.to_host, call);
        if (call.type == OperationClass::p2p) see_peer(call);
        if (call.type != OperationClass::h2d) return;
        come_back(gpu.to_host, call, gpu.sums[round_trip]);
        if (call.bytes >= kInputBytes && (gpu.inputs.size() < kMostSizes || gpu.inputs.contains(call.bytes)))
            gpu.inputs[call.bytes].add(call, call.bytes, took_ns(call));
    }

    void see_small(const Call& call) {
        if (call.completes)
            gpus_[gpu_of(call)].sums[small_d2h_sync].add(call, call.bytes, took_ns(call));
        else
            small_[call.thread_id] = {gpu_of(call), call};
    }

    void end_small(const Call& call) {
        const auto found = small_.find(call.thread_id);
        if (found == small_.end()) return;
        const Call& copy = found->second.call;
        gpus_[found->second.gpu].sums[small_d2h_sync].add(copy, copy.bytes, took_ns(copy) + took_ns(call));
        small_.erase(found);
    }

    static void note(std::unordered_map<int64_t, Left>& out, const Call& call) {
        if (call.step == kNoStep || (out.size() >= kMostSizes && !out.contains(call.bytes))) return;
        Left& left = out[call.bytes];
        ++left.count;
        left.call_ns = took_ns(call);
        left.exit_ns = call.exit_ns;
    }

    static bool come_back(std::unordered_map<int64_t, Left>& out, const Call& call, TransferSums& sums) {
        const auto found = out.find(call.bytes);
        if (call.step == kNoStep || found == out.end()) return false;
        sums.add(call, 2 * call.bytes, found->second.call_ns + took_ns(call));
        sums.between_ns +=
            std::max<int64_t>(0, call.enter_ns - std::max(found->second.exit_ns, sums.until_ns));
        sums.until_ns = std::max(sums.until_ns, call.enter_ns);
        if (--found->second.count == 0) out.erase(found);
        return true;
    }

    void see_peer(const Call& call) {
        const size_t own = gpu_of(call);
        for (size_t i = 0; i < gpus_.size(); ++i)
            if (i != own && come_back(gpus_[i].to_peer, call, gpus_[own].sums[d2d_back])) return;
        note(gpus_[own].to_peer, call);
    }

    void add_inputs(Gpu& gpu) const {
        const auto steps = static_cast<int64_t>(facts_.steps.size());
        if (facts_.are_slices || steps < kStepsEnough) return;
        TransferSums& sums = gpu.sums[repeated_input];
        for (const auto& [bytes, input] : gpu.inputs) {
            if (static_cast<double>(input.steps) < kNearlyEvery * static_cast<double>(steps)) continue;
            sums.count += input.count;
            sums.bytes += input.bytes;
            sums.ns += input.ns;
            sums.steps = std::max(sums.steps, input.steps);
        }
    }

    const TraceFacts& facts_;
    const Places places_;
    std::vector<Gpu> gpus_;                     // the last: not known
    std::unordered_map<int64_t, Small> small_;  // by thread
    int32_t step_ = kNoStep;
};

const PartRegistration kTransferPart(make_transfer_part);

}  // namespace

std::unique_ptr<Part> make_transfer_part(const TraceFacts& facts) {
    return std::make_unique<TransferPart>(facts);
}

}  // namespace gpushim::analysis
