// Matrix products and convolutions that do not use tensor cores, or use them in tf32 where 16 bits would do.
#include "../advice/rule.h"
#include "../advice/work.h"
#include "../kernel/generation.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_no_tensor_cores {

namespace {

// All of its GPUs are known to have no more than that.
bool are_all(const Situation& run, TensorCores has) {
    Query names = run.ask("SELECT coalesce(name, '') FROM gpu");
    int64_t gpus = 0;
    for (; names.step(); ++gpus)
        if (tensor_cores_of(names.text(0)) != has) return false;
    return gpus > 0;
}

std::string what_to_try(const Situation& run, bool in_fp32) {
    if (are_all(run, TensorCores::only_fp16)) return run.advice({"no_tensor_cores", "no_tensor_cores.older"});
    if (!in_fp32) return run.advice({"no_tensor_cores", "no_tensor_cores.bf16"});
    return run.advice({"no_tensor_cores", "no_tensor_cores.bf16", "no_tensor_cores.fp32"});
}

std::optional<Finding> look(const Situation& run) {
    if (are_all(run, TensorCores::none)) return {};
    const Work none = kernels_where(
        run, "k.eligible = 1 AND k.tensor_core = 'no' AND coalesce(k.precision, '') NOT IN ('fp16', 'bf16')");
    const Work tf32 = kernels_where(run, "k.eligible = 1 AND k.tensor_core = 'yes' AND k.precision = 'tf32'");
    if (none.ns + tf32.ns <= 0) return {};
    const bool in_fp32 = none.ns >= tf32.ns;
    Finding found;
    found.title = "matrix products and convolutions take " + duration_text(none.ns + tf32.ns) + " of a " +
                  run.per() + (in_fp32 ? " without tensor cores" : " in tf32") + " (by name; most in " +
                  (in_fp32 ? none.largest : tf32.largest) + ")";
    const bool is_off =
        run.number("SELECT 1 FROM environment WHERE name = 'NVIDIA_TF32_OVERRIDE' AND value = '0'")
            .has_value();
    if (is_off && !are_all(run, TensorCores::only_fp16))
        found.try_it = run.advice({"no_tensor_cores.tf32_off"}) + " ";
    found.try_it += what_to_try(run, in_fp32);
    const Gain first = none.shorter_by(factor("amp"), run),
               second = tf32.shorter_by(factor("amp_from_tf32"), run);
    found.gain = {first.low_ns + second.low_ns, first.high_ns + second.high_ns};
    found.confidence = 0.7;
    found.evidence = in_fp32 ? none.evidence : tf32.evidence;
    return found;
}

constexpr Heading kHeading = {"no tensor cores", "Matrix products without tensor cores",
                              "matrix products run slower than they could", "16-bit types"};
const RuleRegistration kRegistration({"no_tensor_cores", Scope::kKernels, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_no_tensor_cores
