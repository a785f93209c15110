// Which steps of different ranks are the same one. Each trace numbers its own: one that begins to be recorded
// later, or has lost its beginning, is ahead. A collective lies in the same step on all ranks.
//
//   rank 0   |0 ──■──|1 ──■──|2 ──■──|
//   rank 1           |0 ──■──|1 ──■──|      1 is to be added
#include <algorithm>
#include <map>

#include "collective_run.h"

namespace gpushim::analysis {

namespace {

std::vector<size_t> traces_of(const CollectiveRun& all, const RunCommunicator& comm) {
    std::vector<size_t> traces;  // by seat
    for (const CommSeat& seat : comm.seats) {
        const auto found = std::find(all.traces.begin(), all.traces.end(), seat.facts);
        traces.push_back(static_cast<size_t>(found - all.traces.begin()));
    }
    return traces;
}

}  // namespace

std::vector<StepShift> find_step_shifts(const CollectiveRun& all) {
    std::vector<std::map<int32_t, int64_t>> votes(all.traces.size());
    for (const RunCommunicator& comm : all.communicators) {
        const std::vector<size_t> traces = traces_of(all, comm);
        for (const CollectiveInstance& instance : comm.instances) {
            std::map<size_t, int32_t> step_of;  // by trace
            for (const RankPart& part : instance.parts)
                if (const CommCall& call = comm.call(part); !call.captured && call.step != kNoStep)
                    step_of.try_emplace(traces[comm.seat_index(part)], call.step);
            if (!step_of.contains(0)) continue;
            for (const auto& [trace, step] : step_of) ++votes[trace][step_of[0] - step];
        }
    }
    std::vector<StepShift> shifts;
    for (const auto& vote : votes) {
        const auto most = std::max_element(vote.begin(), vote.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        shifts.push_back(most == vote.end() ? StepShift{0, false} : StepShift{most->first, true});
    }
    return shifts;
}

}  // namespace gpushim::analysis
