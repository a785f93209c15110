#include "comparison_json.h"

#include "../report/facts.h"
#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

Json serving_json(const ServingUse& is) {
    const char* const none = "no token followed another";
    Json kinds = Json::array();
    for (const ServingUse::Kind& kind : is.kinds)
        kinds.push(Facts()
                       .known("kind", kind.kind)
                       .known("iterations", kind.iterations)
                       .known("time_share", kind.time_share)
                       .maybe("p50_ns", kind.p50_ns, "no iteration counts")
                       .json());
    return Facts()
        .maybe("token_p50_ns", is.token_p50_ns, none)
        .maybe("token_p95_ns", is.token_p95_ns, none)
        .maybe("token_p99_ns", is.token_p99_ns, none)
        .known("iterations_per_s", is.iterations_per_s)
        .known("prefill_share", is.prefill_share)
        .known("kinds", std::move(kinds))
        .json();
}

Json side_json(const Side& side) {
    Facts facts;
    if (side.serving) facts.known("serving", serving_json(*side.serving));
    return facts.known("run", side.name)
        .known("started_real_ns", side.started_real_ns)
        .known("gpus", side.gpus)
        .known("ranks_seen", side.ranks_seen)
        .maybe("ranks_expected", side.ranks_expected, "the launcher did not say")
        .maybe("samples_per_step", side.samples_per_step, "samples per step are not known")
        .maybe("launches_per_step", side.launches_per_step, "no steps")
        .maybe("busy_share", side.busy_share, "nothing was timed")
        .maybe("productive_share", side.productive_share, "nothing was timed")
        .maybe("mfu", side.mfu, "the operations of a sample, or the GPU's peak, are not known")
        .maybe("product_mfu", side.product_mfu,
               "recorded products cover less than 90 % of matrix time, or the GPU's peak is not known")
        .maybe("joules_per_step", side.joules_per_step, "NVML told too little")
        .json();
}

Json changes_json(const Comparison& is) {
    Json list = Json::array();
    for (const Change& change : is.changes) {
        const auto text = [](const std::string& value) {
            return value.empty() ? std::nullopt : std::optional(value);
        };
        list.push(Facts()
                      .known("what", change.what)
                      .maybe("before", text(change.before), "not recorded")
                      .maybe("after", text(change.after), "not recorded")
                      .known("forbids", change.forbids)
                      .json());
    }
    return list;
}

// The parts' shifts are rounded so that they add up to the step's to the nanosecond: the rest takes what
// rounding leaves.
Json parts_json(const Comparison& is) {
    Json list = Json::array();
    int64_t left_ns = is.shift ? to_int64(is.shift->shift_ns()) : 0;
    for (const PartShift& part : is.parts)
        if (part.name != kRest) left_ns -= to_int64(part.shift_ns());
    for (const PartShift& part : is.parts)
        list.push(Json::object({{"part", part.name},
                                {"base_ns", to_int64(part.base_ns)},
                                {"new_ns", to_int64(part.new_ns)},
                                {"shift_ns", part.name == kRest ? left_ns : to_int64(part.shift_ns())}}));
    return list;
}

Json kernels_json(const Comparison& is) {
    Json list = Json::array();
    for (const KernelShift& kernel : is.kernels) {
        const auto ns = [](const std::optional<KernelUse>& use) {
            return use ? to_int64(use->ns) : std::nullopt;
        };
        const auto launches = [](const std::optional<KernelUse>& use) { return use ? use->launches : 0.0; };
        list.push(Facts()
                      .known("name", kernel.name)
                      .known("change", !kernel.base  ? "new"
                                       : !kernel.now ? "gone"
                                                     : "other")
                      .known("base_launches", launches(kernel.base))
                      .known("new_launches", launches(kernel.now))
                      .maybe("base_ns", ns(kernel.base), kernel.base ? "not timed" : "not launched in BASE")
                      .maybe("new_ns", ns(kernel.now), kernel.now ? "not timed" : "not launched in NEW")
                      .json());
    }
    return list;
}

Json shift_json(const Comparison& is) {
    const MedianShift& shift = *is.shift;
    return Json::object({{"base_median_ns", to_int64(shift.base_ns)},
                         {"new_median_ns", to_int64(shift.new_ns)},
                         {"shift_ns", to_int64(shift.shift_ns())},
                         {"shift_low_ns", to_int64(shift.low_ns)},
                         {"shift_high_ns", to_int64(shift.high_ns)},
                         {"shift_share", shift.shift_ns() / shift.base_ns},
                         {"blocks", shift.blocks},
                         {"block_steps", shift.block},
                         {"same_samples", is.same_samples},
                         {"matched", is.matched}});
}

Json predicted_json(const Side& side) {
    Json list = Json::array();
    for (const Predicted& one : side.predicted)
        list.push(Json::object({{"id", one.finding},
                                {"gain_low_ns", to_int64(one.low_ns)},
                                {"gain_high_ns", to_int64(one.high_ns)}}));
    return list;
}

}  // namespace

Json json_of(const Side& base, const Side& now, const Comparison& is) {
    const PartShift* const cause = is.cause();
    const bool moved = is.verdict == Verdict::kSlower || is.verdict == Verdict::kFaster;
    Facts facts;
    facts.known("schema", 1).known("changes", changes_json(is)).known("verdict", name_of(is.verdict));
    if (is.verdict == Verdict::kInconclusive) facts.known("inconclusive_because", is.why);
    facts.known("threshold", is.threshold)
        .maybe("cause", moved && cause ? std::optional(cause->name) : std::nullopt,
               moved ? is.why_no_parts : "no shift is claimed")
        .known("base", side_json(base))
        .known("new", side_json(now));
    if (is.shift)
        facts.known("step", shift_json(is));
    else
        facts.maybe("step", std::optional<std::string>(), is.why);
    facts.known("parts", parts_json(is))
        .known("kernels", kernels_json(is))
        .known("base_predicted", predicted_json(base))
        .known("new_predicted", predicted_json(now));
    return facts.json();
}

}  // namespace gpushim::analysis
