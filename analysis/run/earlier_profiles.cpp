#include "earlier_profiles.h"

#include <utility>

#include "pass/make_facts.h"

namespace gpushim::analysis {

namespace {

// Ranks in containers often have one number as processes, and no names of hosts; but they run at one time.
bool may_be_one_process(const Trace& a, const Trace& b) {
    return a.pid > 0 && a.pid == b.pid && a.host == b.host && a.rank == b.rank && a.started_real_ns > 0 &&
           b.started_real_ns > 0;
}

bool is_before(const Trace& a, const Trace& b) {
    return a.started_real_ns < b.started_real_ns &&
           b.started_real_ns - a.started_real_ns >= span_of(a).length_ns();
}

}  // namespace

std::vector<EarlierProfile> leave_out_earlier_profiles(std::vector<Trace>& traces) {
    std::vector<EarlierProfile> left_out;
    std::vector<bool> is_left_out;
    for (const Trace& trace : traces) {
        const Trace* newest = &trace;
        for (const Trace& other : traces)
            if (may_be_one_process(trace, other) && is_before(trace, other) &&
                other.started_real_ns > newest->started_real_ns)
                newest = &other;
        is_left_out.push_back(newest != &trace);
        if (newest != &trace) left_out.push_back({trace.path.string(), newest->path.string()});
    }
    std::vector<Trace> kept;
    for (size_t i = 0; i < traces.size(); ++i)
        if (!is_left_out[i]) kept.push_back(std::move(traces[i]));
    traces = std::move(kept);
    return left_out;
}

}  // namespace gpushim::analysis
