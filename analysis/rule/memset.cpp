// Gradients are set to zero in every step. People are told to do without; mostly it gains nothing, and then
// that is said.
#include "../advice/advise.h"
#include "../advice/work.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_memset {

namespace {

constexpr double kEveryStep = 0.9;
constexpr double kNothing = 1000;  // ns: nobody would ask

std::optional<Finding> look(const Situation& run) {
    Work fills = kernels_where(run, "k.family = 'fill'");
    Query sets = run.ask(
        "SELECT gpu_id, sum_ns, timed, count, rowid FROM memset_stat WHERE timed > 0"
        " ORDER BY sum_ns DESC, rowid");
    double count = fills.count;
    while (sets.step()) {
        const double each_ns = sets.real(1) / sets.real(2);
        fills.ns_by_gpu[sets.number(0)] += run.counted(each_ns * sets.real(3));
        if (fills.evidence.empty()) count += run.counted(sets.real(3));
        fills.evidence.push_back({"memset_stat", sets.number(4)});
    }
    if (count < kEveryStep) return {};
    Finding found;
    found.gain = fills.shorter_by({0.5, 1.0}, run);
    if (found.gain.high_ns < kNothing) return {};
    const bool is_little = found.gain.high_ns < kWorthIt * run.step_ns();
    found.kind = is_little ? Kind::kNoGain : Kind::kGain;
    found.title = "setting memory to zero takes " + duration_text(found.gain.high_ns) + " of a " + run.per();
    found.try_it = run.advice({is_little ? "memset.little" : "memset"});
    found.confidence = 0.8;
    found.evidence = fills.evidence;
    return found;
}

constexpr Heading kHeading = {"memory-bound", "Memory set to zero in each step", "memory is set to zero",
                              "less of it"};
const RuleRegistration kRegistration({"memset", Scope::kKernels, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_memset
