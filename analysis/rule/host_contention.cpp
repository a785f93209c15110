// The thread that launches could run and has no processor: loaders and others have them all.
#include "../advice/contention.h"
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_host_contention {

namespace {

std::optional<Finding> look(const Situation& run) {
    const double idle_ns = contended_ns(run);
    if (idle_ns <= 0) return {};
    Finding found;
    found.title = "the GPU is idle " + duration_text(idle_ns) + " of a " + run.per() +
                  " while the launching thread waits for a processor";
    found.try_it = run.advice({"host_contention"});
    const double piece_ns = run.what_if().of_piece(idle_ns);
    found.gain = run.what_if().shorter([&](const GpuInStep&) { return Gain{piece_ns / 2, piece_ns}; });
    found.confidence = 0.7;
    found.evidence =
        run.rows("cpu_contention", "SELECT rowid FROM cpu_contention WHERE ns > 0 ORDER BY ns DESC LIMIT 3");
    return found;
}

constexpr Heading kHeading = {"short of processors", "No processor for the launching thread",
                              "the GPU waits for a thread that has no processor",
                              "more processors, or fewer threads"};
const RuleRegistration kRegistration({"host_contention", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_host_contention
