// What threads did between their calls.
#include <algorithm>
#include <cmath>

#include "host_samples.h"
#include "translator.h"

namespace gpushim::shim {
namespace {

// What the thread ran between the two readings, less what of that lies beside the gap. Ticks become time as
// those of the gap itself do.
int64_t running_ns(const Slot& slot, int64_t gap_ns) {
    const auto words = words_of<event::gap>(slot);
    const auto beside_ticks = static_cast<double>(static_cast<int64_t>(words.ran_beside));
    const auto gap_ticks = static_cast<double>(slot.exit - slot.enter);
    const int64_t beside_ns = std::llround(beside_ticks * static_cast<double>(gap_ns) / gap_ticks);
    return std::clamp(static_cast<int64_t>(words.cpu_ns) - beside_ns, int64_t{0}, gap_ns);
}

}  // namespace

void Translator::gap(const Call& call) {
    const Slot& slot = call.event.slot;
    if (!call.finished || slot.exit <= slot.enter) return;
    const int64_t running = running_ns(slot, call.dur_ns);
    const SampledGap sampled =
        host_samples().in(static_cast<uint32_t>(call.thread), call.enter_ns, call.event.exit_ns);
    const int64_t runqueue =
        sampled.runqueue_ns == kNull ? kNull : std::min(sampled.runqueue_ns, call.dur_ns - running);
    tables_.host_gap.add({.enter_ns = call.enter_ns,
                          .dur_ns = call.dur_ns,
                          .thread_id = call.thread,
                          .running_ns = running,
                          .runqueue_ns = runqueue,
                          .blocked_on = sampled.what == nullptr ? kNull : tables_.host_gap.text(sampled.what),
                          .samples = sampled.samples});
}

}  // namespace gpushim::shim
