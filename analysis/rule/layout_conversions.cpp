// Tensors are converted between layouts for convolutions on tensor cores, and back.
#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_layout_conversions {

namespace {

// Layouts are those of products and convolutions. In a program without these (a Fourier transform, a sort by
// columns) transposing is the work itself.
bool has_layouts(const Situation& run) {
    return kernels_where(run, "k.family IN ('gemm', 'convolution', 'attention')").count > 0;
}

std::optional<Finding> look(const Situation& run) {
    if (!has_layouts(run)) return {};
    const Work conversions = kernels_where(run, "k.family = 'layout_conversion'");
    if (conversions.ns <= 0) return {};
    Finding found;
    found.title = count_text(to_int64(conversions.count)) + " layout conversions in a " + run.per() +
                  " take " + conversions.text() + " (by name; most in " + conversions.largest + ")";
    found.try_it = run.advice({"layout_conversions"});
    found.gain = conversions.shorter_by(factor("layout"), run);
    found.confidence = 0.8;
    found.evidence = conversions.evidence;
    return found;
}

constexpr Heading kHeading = {"layout conversions", "Kernels that convert layouts", "kernels convert layouts",
                              "one layout throughout"};
const RuleRegistration kRegistration({"layout_conversions", Scope::kKernels, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_layout_conversions
