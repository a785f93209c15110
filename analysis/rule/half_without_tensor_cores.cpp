// Matrix products and convolutions of 16-bit numbers that run on the GPU's ordinary cores.
#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_half_without_tensor_cores {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Work work =
        kernels_where(run, "k.eligible = 1 AND k.tensor_core = 'no' AND k.precision IN ('fp16', 'bf16')");
    if (work.ns <= 0) return {};
    Finding found;
    found.title = "matrix products and convolutions in 16 bits take " + work.text() + " of a " + run.per() +
                  " without tensor cores (by name; most in " + work.largest + ")";
    found.try_it = run.advice({"half_without_tensor_cores"});
    found.gain = work.shorter_by(factor("tensor_cores"), run);
    found.confidence = 0.7;
    found.evidence = work.evidence;
    return found;
}

constexpr Heading kHeading = {"no tensor cores", "16-bit products without tensor cores",
                              "16-bit products run slower than they could", "shapes that tensor cores take"};
const RuleRegistration kRegistration({"half_without_tensor_cores", Scope::kKernels, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_half_without_tensor_cores
