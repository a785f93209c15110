#include "late_reads.h"

#include <algorithm>
#include <vector>

#include "../../trace/timeline.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kEnoughToTell = 20'000;  // timed operations: all iterations of a server are read alike
constexpr size_t kFewestLate = 10;         // steps
constexpr double kNearlyAllLate = 0.9;

// What computes, of what was launched in a step: how long it ran, and for how long of that after the step.
struct Launched {
    int64_t ns = 0, behind_ns = 0;
};

std::vector<Launched> launched_by_step(const TraceFacts& facts) {
    std::vector<Launched> launched(facts.steps.size());
    Timeline timeline(*facts.trace);
    Call call;
    size_t step = 0;
    for (int64_t timed = 0; timed < kEnoughToTell && timeline.next(call);) {
        const bool computes = call.type == OperationClass::compute || call.type == OperationClass::graph;
        if (call.kind != CallKind::operation || !call.timed || !computes) continue;
        ++timed;
        while (step < facts.steps.size() && call.enter_ns >= facts.steps[step].end_ns) ++step;
        if (step == facts.steps.size() || call.enter_ns < facts.steps[step].begin_ns) continue;
        const int64_t until_ns = facts.steps[step].end_ns + facts.clock_error_ns;
        launched[step].ns += call.times.end_ns - call.times.start_ns;
        launched[step].behind_ns +=
            std::max<int64_t>(0, call.times.end_ns - std::max(call.times.start_ns, until_ns));
    }
    return launched;
}

// A little may run behind a read-back that waited for the rest.
bool are_read_late(const TraceFacts& facts) {
    constexpr double kMoreThanALittle = 0.1;
    size_t known = 0, late = 0;
    double ns = 0, behind_ns = 0;
    for (const Launched& one : launched_by_step(facts)) {
        known += one.ns > 0;
        late += one.behind_ns > 0;
        ns += static_cast<double>(one.ns);
        behind_ns += static_cast<double>(one.behind_ns);
    }
    return known >= kFewestLate && behind_ns >= kMoreThanALittle * ns &&
           static_cast<double>(late) >= kNearlyAllLate * static_cast<double>(known);
}

}  // namespace

void follow_late_reads(TraceFacts& facts) {
    if (facts.iterations.size() != facts.steps.size() || facts.steps.size() < kFewestLate) return;
    if (!facts.called.empty() || facts.trace->base.is_of_first_schema() || !are_read_late(facts)) return;
    std::rotate(facts.iterations.begin(), facts.iterations.end() - 1, facts.iterations.end());
    facts.iterations.front() = {};
}

}  // namespace gpushim::analysis
