#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../report/facts.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

struct Matched {
    const StepGroup& base;
    const StepGroup& now;
};

double share_in(const StepGroup& group, const Side& side) {
    return static_cast<double>(group.count) / static_cast<double>(side.groups.front().count);
}

// The steps of which both runs have most; where they have none in common, all.
Matched match(const Side& base, const Side& now) {
    const StepGroup *best_base = &base.groups.front(), *best_now = &now.groups.front();
    double best = 0;
    for (const StepGroup& a : base.groups)
        for (const StepGroup& b : now.groups) {
            if (!a.signature || a.signature != b.signature) continue;
            const double share = std::min(share_in(a, base), share_in(b, now));
            if (share > best) best = share, best_base = &a, best_now = &b;
        }
    return {*best_base, *best_now};
}

std::string words_of(const Matched& matched, const Side& base, const Side& now) {
    const auto of = [](const StepGroup& group, const Side& side) {
        return count_text(group.count) + " of " + count_text(side.groups.front().count);
    };
    if (matched.base.signature)
        return "steps of the same operations: " + of(matched.base, base) + " and " + of(matched.now, now);
    return "all steps that count, " + count_text(matched.base.count) + " and " +
           count_text(matched.now.count) + ": they launch different operations";
}

void split_shift(const Matched& matched, Comparison& result) {
    if (!matched.base.split || !matched.now.split) {
        result.why_no_parts = std::string("no such step of ") + (matched.base.split ? "NEW" : "BASE") +
                              " was timed from beginning to end";
        return;
    }
    std::set<std::string> names;
    for (const auto* split : {&*matched.base.split, &*matched.now.split})
        for (const auto& [name, ns] : split->parts_ns) names.insert(name);
    PartShift rest{kRest, result.shift->base_ns, result.shift->new_ns};
    for (const std::string& name : names) {
        const auto of = [&](const StepSplit& split) {
            const auto found = split.parts_ns.find(name);
            return found == split.parts_ns.end() ? 0 : found->second;
        };
        const PartShift part{name, of(*matched.base.split), of(*matched.now.split) * result.same_samples};
        rest.base_ns -= part.base_ns;
        rest.new_ns -= part.new_ns;
        result.parts.push_back(part);
    }
    result.parts.push_back(rest);
    std::stable_sort(result.parts.begin(), result.parts.end(), [](const PartShift& a, const PartShift& b) {
        return std::fabs(a.shift_ns()) > std::fabs(b.shift_ns());
    });
}

void compare_kernels(const Side& base, const Side& now, Comparison& result) {
    std::set<std::string> names;
    for (const Side* side : {&base, &now})
        for (const auto& [name, use] : side->kernels) names.insert(name);
    const auto find = [](const Side& side, const std::string& name) {
        const auto found = side.kernels.find(name);
        return found == side.kernels.end() ? std::nullopt : std::optional(found->second);
    };
    for (const std::string& name : names) {
        KernelShift shift{name, find(base, name), find(now, name)};
        const bool is_there_twice = shift.base && shift.now;
        const auto ns = shift.shift_ns();
        if (is_there_twice && (!ns || *ns == 0) && shift.base->launches == shift.now->launches) continue;
        result.kernels.push_back(std::move(shift));
    }
    std::stable_sort(result.kernels.begin(), result.kernels.end(), [](const auto& a, const auto& b) {
        return std::fabs(a.shift_ns().value_or(0)) > std::fabs(b.shift_ns().value_or(0));
    });
}

// A shift is claimed where its bounds exclude none and it is as large as asked; "same" where one that large
// would have been found.
void judge(Comparison& result) {
    const MedianShift& shift = *result.shift;
    const double least_ns = result.threshold * shift.base_ns;
    if (shift.low_ns > 0 && shift.shift_ns() >= least_ns)
        result.verdict = Verdict::kSlower;
    else if (shift.high_ns < 0 && -shift.shift_ns() >= least_ns)
        result.verdict = Verdict::kFaster;
    else if ((shift.high_ns - shift.low_ns) / 2 <= least_ns)
        result.verdict = Verdict::kSame;
    else
        result.why =
            "steps vary too much: a change of " + percent_text(result.threshold) + " would not be seen";
}

constexpr double kOtherSamples = 0.001;  // below that it is a rate's rounding

// More samples a step are another step: times are for as many as BASE has.
double same_samples(const Side& base, const Side& now) {
    if (!base.samples_per_step || !now.samples_per_step || *now.samples_per_step <= 0) return 1;
    const double same = *base.samples_per_step / *now.samples_per_step;
    return std::fabs(same - 1) < kOtherSamples ? 1 : same;
}

void compare_steps(const Side& base, const Side& now, Comparison& result) {
    const Matched matched = match(base, now);
    result.matched = words_of(matched, base, now);
    result.same_samples = same_samples(base, now);
    std::vector<int64_t> lengths_ns = matched.now.lengths_ns;
    if (result.same_samples != 1)
        for (int64_t& ns : lengths_ns) ns = to_int64(static_cast<double>(ns) * result.same_samples);
    result.shift = shift_of(matched.base.lengths_ns, lengths_ns);
    if (!result.shift) result.shift = far_shift_of(matched.base.lengths_ns, lengths_ns);
    if (!result.shift) {
        result.why = "too few steps: " + count_text(std::min(matched.base.count, matched.now.count)) +
                     ", at least " + count_text(kFewestBlocks * kShortestBlock) + " are needed";
        if (!matched.base.lengths_ns.empty() && !lengths_ns.empty())
            result.why += "; a step took " + duration_text(median_of(lengths_ns)) + ", was " +
                          duration_text(median_of(matched.base.lengths_ns));
        return;
    }
    split_shift(matched, result);
    judge(result);
}

}  // namespace

std::optional<double> KernelShift::shift_ns() const {
    const bool is_known = (!base || base->ns) && (!now || now->ns);
    if (!is_known) return {};
    return (now ? *now->ns : 0) - (base ? *base->ns : 0);
}

const PartShift* Comparison::cause() const {
    const double way = shift && shift->shift_ns() < 0 ? -1 : 1;
    const PartShift* most = nullptr;
    for (const PartShift& part : parts)
        if (way * part.shift_ns() > (most ? way * most->shift_ns() : 0)) most = &part;
    return most;
}

Comparison compare(const Side& base, const Side& now, double threshold) {
    Comparison result;
    result.threshold = threshold;
    result.changes = changes_of(base, now);
    if (base.has_steps() && now.has_steps())
        compare_steps(base, now, result);
    else
        result.why = base.has_steps() ? "NEW has no steps: " + now.why_no_steps
                                      : "BASE has no steps: " + base.why_no_steps;
    compare_kernels(base, now, result);
    for (const Change& change : result.changes) {
        if (!change.forbids) continue;
        result.verdict = Verdict::kInconclusive;
        result.why = "not comparable: " + change.words();
        break;
    }
    return result;
}

const char* name_of(Verdict verdict) {
    constexpr const char* kNames[] = {"same", "faster", "slower", "inconclusive"};
    return kNames[static_cast<size_t>(verdict)];
}

ExitCode exit_code_of(Verdict verdict) {
    return verdict == Verdict::kSlower ? kSlower : verdict == Verdict::kInconclusive ? kIncomplete : kFine;
}

}  // namespace gpushim::analysis
