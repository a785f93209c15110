#include "analyze.h"

#include <algorithm>
#include <numeric>
#include <system_error>
#include <thread>

#include "../parallel/in_parallel.h"
#include "../process/heap.h"
#include "../terminal/progress.h"
#include "../text/units.h"
#include "../trace/call_rows.h"
#include "collectives/collectives.h"
#include "pass/make_facts.h"
#include "pass/trace_pass.h"
#include "ranks/peak_rows.h"
#include "ranks/peer_events.h"
#include "ranks/rank_rows.h"
#include "ranks/shared_gpus.h"
#include "run_told.h"
#include "sql/run_db.h"

namespace gpushim::analysis {

namespace {

// What an analysis takes for each call of a trace, in parts of all it takes.
constexpr int64_t kFindSteps = 3, kPass = 7, kDerive = 2;

// By trace; nothing where nobody asks how far it is.
std::vector<int64_t> expected_calls(const Inputs& inputs) {
    std::vector<int64_t> calls(inputs.traces.size(), 0);
    for (size_t i = 0; i < calls.size() && Progress::is_shown(); ++i) {
        calls[i] = count_calls(inputs.traces[i].base);
        Progress::expect((kFindSteps + kPass + kDerive) * calls[i]);
    }
    return calls;
}

// A short one is through as soon without threads, and in 6 % less processor time.
bool is_long(const Trace& trace) {
    constexpr uintmax_t kLongBytes = 8 << 20;  // a hundred thousand calls
    std::error_code unknown;                   // then it is taken for long
    return std::filesystem::file_size(trace.base.where(), unknown) >= kLongBytes;
}

// Whether other processors have nothing to do while it is gone through: there are more of them than traces,
// or it is one of the last, beside which the others end.
bool has_processors(size_t trace, size_t traces, size_t processors) {
    constexpr size_t kOfOne = 4;  // what a trace with threads of its own makes use of
    const size_t last = processors > 1 ? std::max<size_t>(1, processors / kOfOne) : 0;
    return processors > traces || trace + last >= traces;
}

struct TurnEnd {
    RunDb& run;
    int64_t rank_id;
    ~TurnEnd() { run.end_turn(rank_id); }
};

// A run refuses what a trace says twice of what there is once; it is the trace that is named.
template <class Work>
void blaming(const std::string& traces, Work work) {
    try {
        work();
    } catch (const RowRefused& refused) {
        throw Failure(traces + ": damaged: " + refused.what(), kIncomplete);
    }
}

std::string any_of(const std::vector<Trace>& traces) {
    if (traces.empty()) return "nothing";
    const std::string first = traces.front().path.string();
    return traces.size() == 1 ? first : first + " or one of " + std::to_string(traces.size() - 1) + " others";
}

}  // namespace

std::filesystem::path analyze(const Inputs& inputs, const RunOptions& options,
                              const std::filesystem::path& place, Advise advise) {
    const Progress analysing("analysing " + count_text(static_cast<int64_t>(inputs.traces.size())) +
                             (inputs.traces.size() == 1 ? " trace" : " traces"));
    const std::vector<int64_t> calls = expected_calls(inputs);
    RunDb run(place);
    RunTold told;
    const size_t processors = options.processors.value_or(std::max(1U, std::thread::hardware_concurrency()));
    std::vector<TraceFacts> all;
    int64_t next_gpu_id = 0;
    for (const Trace& trace : inputs.traces) {
        told.add(trace);
        all.push_back(make_facts(trace, static_cast<int64_t>(all.size()), next_gpu_id, options));
        all.back().reads_ahead =
            has_processors(all.size() - 1, inputs.traces.size(), processors) && is_long(trace);
    }
    told.write(inputs, options, run);
    Collectives collectives(place.parent_path());
    std::vector<std::vector<CommSeat>> seats(all.size());
    in_parallel(all.size(), processors, [&](size_t i) {
        const ProgressPart part(kFindSteps * calls[i]);
        find_steps(all[i]);
        seats[i] = read_comm_seats(all[i]);
        collectives.put_aside(seats[i]);
        all[i].trace->base.forget_pages();
    });
    for (size_t i = 0; i < all.size(); ++i) collectives.add(all[i], std::move(seats[i]));
    collectives.match();
    std::vector<std::vector<DeviceBusy>> busy(all.size());
    in_parallel(all.size(), processors, [&](size_t i) {
        const TurnEnd end{run, all[i].rank_id};
        const ProgressPart part(kPass * calls[i], kPass);
        blaming(all[i].trace->path.string(), [&] {
            busy[i] = pass_over(all[i], collectives.waits_of(all[i].rank_id), run);
            write_rank(all[i], busy[i], run);
            all[i].trace->base.forget_pages();
        });
    });
    const int64_t derived = kDerive * std::accumulate(calls.begin(), calls.end(), int64_t{0});
    const ProgressPart part(derived, derived / static_cast<int64_t>(kRunSqlFiles));
    blaming(any_of(inputs.traces), [&] {
        give_back_heap();  // of all that the passes held; what is derived takes as much again
        run.end_ranks();
        write_shared_gpus(all, busy, run);
        write_peaks(run);
        collectives.write(run);
        write_between_ranks(collectives.all(), run);
        if (all.size() > 1) leave_out_peers_events(run);
        advise(run.raw(), run.derive());
    });
    run.finish();
    return place;
}

}  // namespace gpushim::analysis
