#include "profile_steps.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "../../trace/timeline.h"
#include "make_facts.h"

namespace gpushim::analysis {

namespace {

constexpr const char* kAhead =
    "the host was ahead of the GPU: a step is from where its first work ran to the next one's";
constexpr const char* kRanOn =
    "one step was recorded, and its work ran on behind its mark: the step ends when that was over";
constexpr const char* kOneRange = "one step was recorded: one range holds all that was launched and ran";
constexpr const char* kNextToNothing = "what repeats is next to nothing of what GPUs did";
constexpr const char* kOneIteration = "one iteration of a server was recorded";
constexpr const char* kLittle = "less than half of what GPUs did is in the iterations that are known whole";
constexpr double kToldByOne = 0.8;
constexpr double kTail = 0.02;  // of a step
constexpr double kLongestLatencyNs = 1e6;

struct Ran {  // what was launched in a step, on all devices
    Interval span = {INT64_MAX, INT64_MIN};
    int64_t sum_ns = 0, behind_ns = 0;  // of that, so much after the step
    int64_t first_waited_ns = 0;        // from its call
};

void add(Ran& ran, const Call& call, int64_t step_end_ns) {
    const DeviceTimes& times = call.times;
    if (times.start_ns < ran.span.start_ns) ran.first_waited_ns = times.start_ns - call.enter_ns;
    ran.span = {std::min(ran.span.start_ns, times.start_ns), std::max(ran.span.end_ns, times.end_ns)};
    ran.sum_ns += times.end_ns - times.start_ns;
    ran.behind_ns += std::max<int64_t>(0, times.end_ns - std::max(times.start_ns, step_end_ns));
}

template <class Take>
void each_operation(const Trace& trace, const Take& take) {
    Timeline timeline(trace);
    Call call;
    while (timeline.next(call))
        if (call.kind == CallKind::operation && call.timed) take(call);
}

bool is_kernel(const Call& call) {
    return call.type == OperationClass::compute || call.type == OperationClass::comm ||
           call.type == OperationClass::graph;
}

// A stream that copies alone may bring the batch of the next step while this one runs: it is asked only where
// no stream has kernels.
std::set<int32_t> lanes_of_kernels(const Trace& trace) {
    std::set<int32_t> lanes;
    each_operation(trace, [&](const Call& call) {
        if (is_kernel(call)) lanes.insert(call.lane);
    });
    return lanes;
}

std::vector<Ran> what_ran(const Trace& trace, const std::vector<Step>& steps) {
    const std::set<int32_t> lanes = lanes_of_kernels(trace);
    std::vector<Ran> ran(steps.size());
    size_t step = 0;
    each_operation(trace, [&](const Call& call) {
        if (!TraceFacts::has_call(call) || (!lanes.empty() && !lanes.contains(call.lane))) return;
        while (step < steps.size() && call.enter_ns >= steps[step].end_ns) ++step;
        if (step < steps.size() && call.enter_ns >= steps[step].begin_ns)
            add(ran[step], call, steps[step].end_ns);
    });
    return ran;
}

// Most of the work of all steps together ran after the step that launched it.
bool is_ahead(const std::vector<Ran>& ran) {
    int64_t sum_ns = 0, behind_ns = 0;
    for (const Ran& one : ran) {
        if (one.sum_ns == 0) return false;
        sum_ns += one.sum_ns;
        behind_ns += one.behind_ns;
    }
    return behind_ns > sum_ns / 2;
}

// The device went from each step's work to the next one's without waiting for the host, and took longer for
// all of them: the host ran ahead, even where it is not yet far.
bool falls_behind(const std::vector<Step>& steps, const std::vector<Ran>& ran) {
    constexpr double kLonger = 1.05, kPause = 0.01;
    for (size_t i = 0; i < ran.size(); ++i) {
        if (ran[i].sum_ns == 0) return false;
        if (i == 0) continue;
        const Interval& before = ran[i - 1].span;
        const auto pause_ns = static_cast<double>(ran[i].span.start_ns - before.end_ns);
        // Far below 0 they run side by side, so nothing tells where one ends.
        if (std::abs(pause_ns) > kPause * static_cast<double>(before.length_ns())) return false;
    }
    const auto marked_ns = static_cast<double>(steps.back().end_ns - steps.front().begin_ns);
    return ran.size() > 1 &&
           static_cast<double>(ran.back().span.end_ns - ran.front().span.start_ns) > kLonger * marked_ns;
}

bool runs_what_was_launched_before(const TraceFacts& facts, const Step& step) {
    bool does = false;
    each_operation(*facts.trace, [&](const Call& call) {
        if (call.times.end_ns <= step.begin_ns || TraceFacts::is_migration(call)) return;
        does |= TraceFacts::has_call(call)
                    ? call.enter_ns < step.begin_ns && call.times.start_ns < step.end_ns
                    : call.times.start_ns <= step.begin_ns;
    });
    return does;
}

// Where the device has work when a step begins, it has as much left when it ends; it has, too, where the
// first of the step waits for long. One step that finds nothing would be shorter than the work in it. False:
// it is not so.
bool end_with_its_work(TraceFacts& facts, const Ran& ran) {
    Step& step = facts.found.steps[0];
    const double little_ns = kTail * static_cast<double>(step.end_ns - step.begin_ns);
    if (ran.sum_ns == 0 || static_cast<double>(ran.span.end_ns - step.end_ns) < little_ns) return false;
    if (static_cast<double>(ran.first_waited_ns) > std::max(little_ns, kLongestLatencyNs)) return false;
    if (runs_what_was_launched_before(facts, step)) return false;
    facts.called.push_back({step.begin_ns, step.end_ns});
    step.end_ns = ran.span.end_ns;
    facts.found.why = kRanOn;
    return true;
}

void follow_the_device(TraceFacts& facts) {
    std::vector<Step> steps = facts.found.steps;
    const std::vector<Ran> ran = what_ran(*facts.trace, steps);
    if (steps.empty() || (steps.size() == 1 && end_with_its_work(facts, ran[0]))) return;
    if (!is_ahead(ran) && !falls_behind(steps, ran)) return;
    for (size_t i = 0; i < steps.size(); ++i) {
        steps[i].begin_ns = ran[i].span.start_ns;
        steps[i].end_ns = i + 1 < steps.size() ? ran[i + 1].span.start_ns : ran[i].span.end_ns;
        if (steps[i].end_ns <= steps[i].begin_ns) return;  // they do not run one after another
    }
    for (const Step& step : facts.found.steps) facts.called.push_back({step.begin_ns, step.end_ns});
    facts.found.steps = std::move(steps);
    facts.found.why = kAhead;
}

// Where nothing is trained, what repeats may be a layer or a request; a training's own steps lie within.
bool trains(const TraceFacts& facts) {
    return std::any_of(facts.kernels.begin(), facts.kernels.end(),
                       [](const Kernel& kernel) { return kernel.facts.family == KernelFamily::optimizer; });
}

void take_as_one_step(TraceFacts& facts, Interval span, const char* anchor, const char* source,
                      double confidence, const char* why) {
    Step step = {};
    step.begin_ns = span.start_ns;
    step.end_ns = span.end_ns;
    step.number = 1;
    facts.found = {};
    facts.found.steps = {step};
    facts.found.anchor = anchor;
    facts.found.confidence = confidence;
    facts.found.source = source;
    facts.found.why = why;
}

void take_the_range_around(TraceFacts& facts) {
    const Trace& trace = *facts.trace;
    if (trains(facts) || !trace.base.has("v_range")) return;
    Ran all;
    int64_t first_ns = INT64_MAX;
    each_operation(trace, [&](const Call& call) {
        add(all, call, INT64_MAX);
        first_ns = std::min(first_ns, call.enter_ns);
    });
    Query range = trace.base.prepare(
        "SELECT start_ns, end_ns FROM v_range WHERE start_ns <= ?1 AND end_ns >= ?2 AND kind = 'thread'"
        " ORDER BY start_ns LIMIT 1");
    range.bind(1, std::min(first_ns, all.span.start_ns));
    range.bind(2, all.span.end_ns);
    if (all.sum_ns == 0 || !range.step()) return;
    take_as_one_step(facts, {range.number(0), range.number(1)}, "the range around all of it", "ranges", 1,
                     kOneRange);
}

struct Share {
    int64_t sum_ns = 0;
    bool has_kernels = false;
};

void add(Share& share, const Call& call) {
    share.sum_ns += call.times.end_ns - call.times.start_ns;
    share.has_kernels |= is_kernel(call);
}

// What repeats takes a moment of the run, and of the GPUs' work next to nothing: the copies of a start, say,
// with one long kernel behind them. Loops that took a moment of the run may be all that there was, and a
// start with kernels of its own may take most.
void refuse_a_moment(TraceFacts& facts) {
    constexpr double kMoment = 0.1, kWithoutKernels = 0.5, kWithKernels = 0.01;
    const std::vector<Step>& steps = facts.found.steps;
    if (facts.found.source != "detected" || steps.empty()) return;
    const Step& last = steps.back();
    const Interval loop = {steps.front().begin_ns, has_no_end(last) ? last.begin_ns : last.end_ns};
    const auto of_run = [&] { return static_cast<double>(span_of(*facts.trace).length_ns()); };
    if (static_cast<double>(loop.length_ns()) >= kMoment * of_run()) return;
    Share in_loop, all;
    each_operation(*facts.trace, [&](const Call& call) {
        add(all, call);
        if (call.enter_ns >= loop.start_ns && call.enter_ns < loop.end_ns) add(in_loop, call);
    });
    const double least = in_loop.has_kernels || !all.has_kernels ? kWithKernels : kWithoutKernels;
    if (static_cast<double>(in_loop.sum_ns) >= least * static_cast<double>(all.sum_ns)) return;
    facts.found = {};
    facts.found.why = kNextToNothing;
}

}  // namespace

bool is_profile(const Trace& trace) {
    if (trace.base.is_of_first_schema()) return false;
    Query source = trace.base.prepare(
        "SELECT 1 FROM meta WHERE key = 'source' AND NOT EXISTS"
        " (SELECT 1 FROM meta WHERE key = 'exported_by')");
    return source.step();
}

void refuse_iterations_that_hold_little(TraceFacts& facts) {
    constexpr int64_t kFew = 3;
    std::vector<Step> whole;
    for (const Step& step : facts.found.steps)
        if (!step.is_left_out) whole.push_back(step);
    if (!is_profile(*facts.trace) || whole.empty() || std::ssize(whole) >= kFew) return;
    int64_t in_them_ns = 0, all_ns = 0;
    each_operation(*facts.trace, [&](const Call& call) {
        const int64_t length_ns = call.times.end_ns - call.times.start_ns;
        all_ns += length_ns;
        for (const Step& step : whole)
            if (call.enter_ns >= step.begin_ns && call.enter_ns < step.end_ns) in_them_ns += length_ns;
    });
    if (in_them_ns >= all_ns / 2) return;
    facts.found = {};
    facts.found.why = kLittle;
}

void take_as_one_iteration(TraceFacts& facts) {
    if (!is_profile(*facts.trace)) return;
    Ran all;
    each_operation(*facts.trace, [&](const Call& call) { add(all, call, INT64_MAX); });
    if (all.sum_ns == 0) return;
    take_as_one_step(facts, all.span, "all that ran", "detected", kToldByOne, kOneIteration);
}

void correct_steps_of_profile(TraceFacts& facts) {
    if (!is_profile(*facts.trace)) return;
    if (facts.found.source != "ranges") take_the_range_around(facts);
    refuse_a_moment(facts);
    if (facts.found.source == "ranges" || facts.found.source == "detected") follow_the_device(facts);
}

}  // namespace gpushim::analysis
