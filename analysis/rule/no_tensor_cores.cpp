// Matrix products and convolutions that do not use tensor cores, or use them in tf32 where 16 bits would do.
#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_no_tensor_cores {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Work none = kernels_where(run, "k.eligible = 1 AND k.tensor_core = 'no'");
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
    found.try_it =
        std::string(is_off ? "NVIDIA_TF32_OVERRIDE=0 is set and forbids tf32: unset it. " : "") +
        "Use mixed precision (AMP): torch.autocast('cuda', dtype=torch.bfloat16), "
        "mixed_precision.set_global_policy('mixed_bfloat16') in Keras, bfloat16 parameters in JAX." +
        (in_fp32 ? " Or allow TF32: torch.set_float32_matmul_precision('high'), "
                   "jax_default_matmul_precision='tensorfloat32'."
                 : "");
    const Gain first = none.shorter_by(factor("amp"), run),
               second = tf32.shorter_by(factor("amp_from_tf32"), run);
    found.gain = {first.low_ns + second.low_ns, first.high_ns + second.high_ns};
    found.confidence = 0.7;
    found.evidence = in_fp32 ? none.evidence : tf32.evidence;
    return found;
}

const RuleRegistration kRegistration({"no_tensor_cores", Scope::kKernels, look});

}  // namespace

}  // namespace gpushim::analysis::rule_no_tensor_cores
