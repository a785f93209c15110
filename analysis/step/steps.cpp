#include "steps.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cut.h"

namespace gpushim::analysis {

namespace {

constexpr std::string_view kOutside = "outside the profiler's range";
constexpr double kMoment = 0.01;  // of a step

struct Look {
    Period period;
    bool is_at_all = false;  // of what there is
};

Look look_at(const Beginning& beginning) {
    int64_t tokens = 0;
    const TokenSource counted = [&](const std::function<void(const Token&)>& take) {
        tokens = 0;
        beginning.tokens([&](const Token& token) {
            ++tokens;
            take(token);
        });
    };
    Period period = find_period(counted);
    return {std::move(period), tokens < beginning.most};
}

// A longer look at the run would show the same again.
bool tells_all(const Period& period, const Cut& cut) {
    constexpr double kManySteps = 50, kNearlyWhole = 0.98;
    return period.steps >= kManySteps && period.from_ns == INT64_MIN && cut.share_near >= kNearlyWhole;
}

struct Detected {
    Period period;
    Cut cut;
};

Detected find_and_cut(const TokenSource& source, std::span<const Beginning> beginnings) {
    for (;; beginnings = beginnings.subspan(1)) {
        const Look look = look_at(beginnings.front());
        const Period& period = look.period;
        const bool is_last = look.is_at_all || beginnings.size() == 1;
        if (!period.is_found) {
            if (is_last) return {period, {}};
            continue;
        }
        Cut cut = cut_at_anchor(within(source, period.from_ns, INT64_MAX), period);
        if (is_last || tells_all(period, cut)) return {period, std::move(cut)};
    }
}

Steps detect(const TokenSource& source, std::span<const Beginning> beginnings) {
    Steps result;
    auto [period, cut] = find_and_cut(source, beginnings);
    result.why = period.why;
    result.confidence = period.confidence;
    if (!period.is_found) return result;
    result.steps = std::move(cut.steps);
    if (!result.steps.empty()) {
        result.steps.back().is_left_out = true;
        result.steps.back().why_left_out = kNoEnd;
    }
    result.source = "detected";
    result.anchor = in_words(period.anchor);
    result.anchor_hash = period.anchor.hash;
    result.micro_steps = period.micro_steps;
    return result;
}

std::pair<int64_t, int64_t> ends_of(const TokenSource& source) {
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    source([&](const Token& token) {
        first_ns = std::min(first_ns, token.at_ns);
        last_ns = std::max(last_ns, token.at_ns);
    });
    return {first_ns, last_ns};
}

// The last call begins a step of which nothing marks the end.
std::vector<Step> from_explicit(std::vector<ExplicitStep> marks, int64_t run_end_ns) {
    std::sort(marks.begin(), marks.end(),
              [](const ExplicitStep& a, const ExplicitStep& b) { return a.begin_ns < b.begin_ns; });
    std::vector<Step> steps;
    for (size_t i = 0; i < marks.size(); ++i) {
        const bool is_last = i + 1 == marks.size();
        const int64_t end_ns = is_last ? std::max(run_end_ns, marks[i].begin_ns) : marks[i + 1].begin_ns;
        steps.push_back({marks[i].begin_ns, end_ns, static_cast<int64_t>(i), 0, marks[i].samples});
        steps.back().is_left_out = is_last;
        if (is_last) steps.back().why_left_out = kNoEnd;
    }
    return steps;
}

// Several threads may mark the same step, and a range may lie in another: the outer and earlier one counts.
std::vector<Step> from_ranges(std::vector<MarkedRange> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const MarkedRange& a, const MarkedRange& b) {
        return std::pair(a.span.start_ns, -a.span.end_ns) < std::pair(b.span.start_ns, -b.span.end_ns);
    });
    std::vector<Step> steps;
    for (const MarkedRange& range : ranges) {
        if (range.span.length_ns() == 0) continue;
        if (!steps.empty() && range.span.start_ns < steps.back().end_ns) continue;
        steps.push_back({range.span.start_ns, range.span.end_ns, range.number, 0, {}});
    }
    return steps;
}

// Profilers mark one step more than a loop has: the last begins where the loop ended, and nothing is launched
// in it. It would be a step of nothing, or, behind a first one that warms up, the only one that counts.
void drop_end_of_loop(std::vector<Step>& steps) {
    const auto launches = [](const Step& step) { return step.signature != 0; };
    if (steps.size() > 1 && !launches(steps.back()) && launches(steps[steps.size() - 2])) steps.pop_back();
}

std::vector<Step> from_profiler(const std::vector<Interval>& profiler) {
    std::vector<MarkedRange> ranges;
    for (const Interval& span : profiler) ranges.push_back({span, 0});
    std::vector<Step> steps = from_ranges(std::move(ranges));
    for (size_t i = 0; i < steps.size(); ++i) steps[i].number = static_cast<int64_t>(i);
    return steps;
}

Steps from_marks(const TokenSource& source, const Marks& marks) {
    Steps result;
    result.confidence = 1;
    if (!marks.explicit_steps.empty()) {
        result.source = "gpushim_step";
        result.anchor = "the program's own call of gpushim_step";
        result.steps = from_explicit(marks.explicit_steps, ends_of(source).second);
    } else if (!marks.ranges.empty()) {
        result.source = "ranges";
        result.anchor = "the program's own range for each step";
        result.steps = from_ranges(marks.ranges);
    } else {
        result.source = "profiler";
        result.anchor = "the program's own cuProfilerStart";
        result.steps = from_profiler(marks.profiler);
    }
    sign(source, result.steps);
    if (result.source == "ranges") drop_end_of_loop(result.steps);
    return result;
}

// Only what lies within the marks can be counted against them.
void compare(Steps& marked, const Steps& detected) {
    if (detected.source == "none" || marked.steps.empty()) return;
    const int64_t from_ns = marked.steps.front().begin_ns, to_ns = marked.steps.back().end_ns;
    marked.detected_count =
        std::count_if(detected.steps.begin(), detected.steps.end(), [&](const Step& step) {
            return step.begin_ns >= from_ns && step.begin_ns < to_ns && !trains_nothing(step);
        });
    const auto count = static_cast<int64_t>(marked.steps.size());
    marked.disagrees_with_marks = std::abs(*marked.detected_count - count) > 1;
    if (marked.disagrees_with_marks)
        marked.why = "marked: " + std::to_string(count) + " steps; what repeats there (from " +
                     detected.anchor + "): " + std::to_string(*marked.detected_count);
}

void leave_out_beyond(Steps& result, Interval range) {
    for (Step& step : result.steps) {
        if (step.begin_ns >= range.start_ns && step.end_ns <= range.end_ns) continue;
        step.is_left_out = true;
        step.why_left_out = kOutside;
    }
}

void leave_out_resting(Steps& result, std::vector<Interval> rests) {
    const Intervals resting = unite(std::move(rests));
    auto rest = resting.begin();
    for (Step& step : result.steps) {
        while (rest != resting.end() && rest->end_ns <= step.begin_ns) ++rest;
        if (rest == resting.end()) return;
        // A mark and what it brings about are a moment apart.
        int64_t resting_ns = 0;
        for (auto one = rest; one != resting.end() && one->start_ns < step.end_ns; ++one)
            resting_ns += std::min(one->end_ns, step.end_ns) - std::max(one->start_ns, step.begin_ns);
        if (static_cast<double>(resting_ns) <= kMoment * static_cast<double>(step.length_ns())) continue;
        step.is_left_out = true;
        step.why_left_out = kResting;
    }
}

}  // namespace

bool has_no_end(const Step& step) { return step.is_left_out && step.why_left_out == kNoEnd; }

bool trains_nothing(const Step& step) { return step.is_left_out && step.why_left_out == kTrainsNothing; }

Steps find_steps(const TokenSource& source, std::span<const Beginning> beginnings, const Marks& marks) {
    const Steps detected = detect(source, beginnings);
    const bool has_marks =
        !marks.explicit_steps.empty() || !marks.ranges.empty() || marks.profiler.size() > 1;
    Steps result = has_marks ? from_marks(source, marks) : detected;
    if (has_marks) compare(result, detected);
    leave_out(result, marks);
    return result;
}

void leave_out(Steps& found, const Marks& marks) {
    if (found.source == "detected" && marks.profiler.size() == 1)
        leave_out_beyond(found, marks.profiler.front());
    leave_out_resting(found, marks.rests);
    mark_warm_up(found.steps);
}

}  // namespace gpushim::analysis
