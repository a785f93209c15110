// Kernels for shapes that are no multiples of what tensor cores take at once.
#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_unaligned_shapes {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Work unaligned = kernels_where(run, "k.eligible = 1 AND k.alignment = 'unaligned'");
    if (unaligned.ns <= 0) return {};
    Finding found;
    found.title = "kernels for unaligned shapes take " + unaligned.text() + " of a " + run.per() +
                  " (by name; most in " + unaligned.largest + ")";
    found.try_it = run.advice({"unaligned_shapes"});
    found.gain = unaligned.shorter_by(factor("aligned"), run);
    found.confidence = 0.6;
    found.evidence = unaligned.evidence;
    return found;
}

constexpr Heading kHeading = {"unaligned shapes", "Shapes that are no multiples of 8",
                              "kernels run for unaligned shapes", "padded shapes"};
const RuleRegistration kRegistration({"unaligned_shapes", Scope::kKernels, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_unaligned_shapes
