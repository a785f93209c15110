// Copies between GPUs run on one of them and nothing else does: activations from stage to stage, gradients
// that are exchanged by hand. The GPU is busy with them, so no idle time says so.
//
//   GPU 0   ████████ ████████            what hides the copy is work that is there already: another part
//   GPU 1           ▒▒████████ ▒▒████████        of the batch, before or behind it
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"
#include "alone.h"

namespace gpushim::analysis::rule_peer_copies {

namespace {

constexpr KindOfCopy kPeer = {"p2p", 64, 0};

// What the GPU of a process that has most to do needs without these copies: no step is shorter than that.
class LeftOfSteps {
  public:
    LeftOfSteps(const Situation& run, const AloneInSteps& alone) {
        for (const GpuInStep& gpu : run.basis().rows()) {
            double& most_ns = ns_[{gpu.rank_id, gpu.number}];
            most_ns = std::max(most_ns, static_cast<double>(gpu.busy_ns) - alone.ns(gpu));
        }
    }
    double ns(const GpuInStep& gpu) const { return ns_.at({gpu.rank_id, gpu.number}); }

  private:
    std::map<std::pair<int64_t, int64_t>, double> ns_;  // by rank_id, number of the step
};

// "; 100 MB in 1 copy, at 200 GB/s"
std::string how_much(const Situation& run) {
    const Work copies = copies_where(run, "c.kind = 'p2p'");
    const auto rate =
        run.real("SELECT sum(timed_bytes) * 1e9 / nullif(sum(sum_ns), 0) FROM copy_stat WHERE kind = 'p2p'");
    const int64_t count = std::max<int64_t>(1, to_int64(copies.count));
    if (copies.bytes <= 0 || !rate) return "";
    return "; " + bytes_text(copies.bytes) + " in " + count_text(count) +
           (count == 1 ? " copy, at " : " copies, at ") + rate_text(*rate);
}

std::optional<Finding> look(const Situation& run) {
    if (!run.has_steps()) return {};
    const AloneInSteps alone(run, kPeer);
    if (alone.is_never()) return {};
    const LeftOfSteps left(run, alone);
    const Hidden is = hidden(run, factor("hidden_peer_copy"), [&](const GpuInStep& gpu) {
        const double more_ns = static_cast<double>(gpu.window_ns) - left.ns(gpu);
        return std::clamp(more_ns, 0.0, alone.ns(gpu));
    });
    if (is.gain.high_ns <= 0) return {};
    Finding found;
    found.gain = is.gain;
    found.title = "copies between GPUs take " +
                  duration_text(run.what_if().mean_ns([&](const GpuInStep& gpu) { return alone.ns(gpu); })) +
                  " of a " + run.per() + ", in which nothing else runs on the GPU" + how_much(run);
    found.in_some_steps = is.where.is_some();
    if (found.in_some_steps) found.title += is.where.text();
    found.try_it = run.advice({"peer_copies"});
    found.confidence = 0.6;
    found.evidence = run.rows("copy_stat",
                              "SELECT rowid FROM copy_stat WHERE kind = 'p2p' AND steps > 0"
                              " ORDER BY blocks_kernels_ns DESC, rowid LIMIT 3");
    return found;
}

constexpr Heading kHeading = {"copy-bound", "Copies between GPUs",
                              "a GPU copies from or to another one and does nothing else",
                              "copies behind compute, in parts"};
const RuleRegistration kRegistration({"peer_copies", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_peer_copies
