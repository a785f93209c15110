#include "analyze.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>

#include "../parallel/in_parallel.h"
#include "../terminal/progress.h"
#include "../text/units.h"
#include "../trace/call_rows.h"
#include "../trace/ended.h"
#include "../trace/placeless.h"
#include "../trace/unknown_abi.h"
#include "collectives/collectives.h"
#include "pass/make_facts.h"
#include "pass/trace_pass.h"
#include "ranks/peak_rows.h"
#include "ranks/peer_events.h"
#include "ranks/rank_rows.h"
#include "ranks/shared_gpus.h"
#include "shim/base/version.h"
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

// "580.65.06, CUDA 13.0" and "2.28.3", of those that are recorded.
std::map<const char*, std::string> versions_of(const Trace& trace) {
    std::string driver, nccl;
    Query fact = trace.base.prepare(
        "SELECT key, value FROM meta WHERE key IN ('cuda_version', 'driver_version', 'nccl_version') ORDER "
        "BY 1 DESC");
    while (fact.step()) {
        const int64_t number = fact.number(1);
        if (fact.text(0) == "driver_version") driver = fact.text(1);
        if (fact.text(0) == "nccl_version")
            nccl = std::to_string(number / 10'000) + "." + std::to_string(number / 100 % 100) + "." +
                   std::to_string(number % 100);
        if (fact.text(0) == "cuda_version")
            driver += (driver.empty() ? "CUDA " : ", CUDA ") + std::to_string(number / 1000) + "." +
                      std::to_string(number % 1000 / 10);
    }
    std::map<const char*, std::string> versions;
    if (!driver.empty()) versions["driver_version"] = driver;
    if (!nccl.empty()) versions["nccl_version"] = nccl;
    return versions;
}

// Whose libraries any of them had loaded, as traces tell; none: not one trace tells.
std::optional<std::string> frameworks_of(const Inputs& inputs) {
    std::set<std::string> all;
    bool is_told = false;
    for (const Trace& trace : inputs.traces) {
        Query told = trace.base.prepare("SELECT value FROM meta WHERE key = 'frameworks'");
        if (!told.step()) continue;
        is_told = true;
        std::istringstream names(told.text(0));
        for (std::string name; std::getline(names, name, ',');)
            if (name != "none") all.insert(name);
    }
    std::string text;
    for (const std::string& name : all) text += (text.empty() ? "" : ",") + name;
    return is_told ? std::optional(text.empty() ? "none" : text) : std::nullopt;
}

// "train.py", or "eval.py, train.py" where they differ; of what no interpreter runs its executable.
std::string programs_of(const Inputs& inputs) {
    std::set<std::string> all;
    for (const Trace& trace : inputs.traces) {
        Query script = trace.base.prepare("SELECT value FROM meta WHERE key = 'script'");
        const std::string name = script.step() ? script.text(0) : trace.executable;
        if (!name.empty()) all.insert(name);
    }
    std::string text;
    for (const std::string& name : all) text += (text.empty() ? "" : ", ") + name;
    return text;
}

// Why the lines of a Python program were not read: its version, or how it was built.
std::optional<std::string> python_refused(const Inputs& inputs) {
    for (const Trace& trace : inputs.traces) {
        if (!trace.base.has("python_source")) continue;
        Query why = trace.base.prepare("SELECT refused FROM python_source WHERE refused IS NOT NULL LIMIT 1");
        if (why.step()) return why.text(0);
    }
    return {};
}

void write_run(const Inputs& inputs, const RunOptions& options, RunDb& run) {
    const auto fact = [&](const char* key, const Value& value) {
        if (!std::holds_alternative<std::nullptr_t>(value)) run.add("run", {std::string(key), value});
    };
    std::optional<int64_t> expected, started_ns, samples = options.samples_per_step;
    std::optional<int64_t> unknown_abi = 0, not_ended = 0;
    int64_t placeless = 0, partly_read = 0;
    std::set<std::string> sources;
    for (const Trace& trace : inputs.traces) {
        expected = std::max(expected, trace.world_size);
        const bool is_told = trace.started_real_ns > 0;
        if (is_told && (!started_ns || trace.started_real_ns < *started_ns))
            started_ns = trace.started_real_ns;
        Query meta = trace.base.prepare(
            "SELECT key, value FROM meta WHERE key IN ('source', 'samples_per_step', 'end_note')");
        std::string source = "gpushim";
        while (meta.step()) {
            if (meta.text(0) == "samples_per_step" && !samples) samples = meta.maybe(1);
            if (meta.text(0) == "source") source = meta.text(1);
            partly_read += meta.text(0) == "end_note";
        }
        sources.insert(source);
        const std::optional<int64_t> unseen = unknown_abi_of(trace.base);
        unknown_abi = unknown_abi && unseen ? std::optional(*unknown_abi + *unseen) : std::nullopt;
        placeless += placeless_operations(trace.base);
        const std::optional<bool> ended = has_ended(trace.base);
        not_ended = not_ended && ended ? std::optional(*not_ended + (*ended ? 0 : 1)) : std::nullopt;
    }
    std::string source;
    for (const std::string& one : sources) source += (source.empty() ? "" : ",") + one;
    fact("analysed_by", std::string("gpushim ") + kVersion);
    fact("traces", static_cast<int64_t>(inputs.traces.size()));
    fact("refused", static_cast<int64_t>(inputs.refused.size()));
    fact("ranks_expected", maybe(expected));
    fact("unknown_abi", maybe(unknown_abi));
    fact("not_ended", maybe(not_ended));
    fact("placeless_operations", placeless);
    fact("partly_read", partly_read);
    fact("started_real_ns", maybe(started_ns));
    fact("sources", source);
    if (const auto frameworks = frameworks_of(inputs)) fact("frameworks", *frameworks);
    if (const auto why = python_refused(inputs)) fact("python_refused", *why);
    fact("params", maybe(options.params));
    fact("samples_per_step", maybe(samples));
    fact("tokens_per_sample", maybe(options.tokens_per_sample));
    fact("flops_per_sample", maybe(options.flops_per_sample));
    fact("bandwidth_bytes_per_s", maybe(options.bandwidth_bytes_per_s));
    fact("between_bytes_per_s", maybe(options.between_bytes_per_s));
    fact("price_per_gpu_hour", maybe(options.price_per_gpu_hour));
    if (inputs.traces.empty()) return;
    const Trace& first = inputs.traces.front();
    fact("executable", first.executable);
    if (const std::string programs = programs_of(inputs); !programs.empty()) fact("programs", programs);
    fact("run_key", first.run_key);
    Query tag = first.base.prepare("SELECT tag FROM process");
    if (tag.step() && !tag.is_null(0)) fact("tag", tag.text(0));
    for (const auto& [key, words] : versions_of(first)) fact(key, words);
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
    write_run(inputs, options, run);
    const size_t processors = options.processors.value_or(std::max(1U, std::thread::hardware_concurrency()));
    std::vector<TraceFacts> all;
    int64_t next_gpu_id = 0;
    for (const Trace& trace : inputs.traces) {
        all.push_back(make_facts(trace, static_cast<int64_t>(all.size()), next_gpu_id, options));
        all.back().reads_ahead =
            has_processors(all.size() - 1, inputs.traces.size(), processors) && is_long(trace);
    }
    in_parallel(all.size(), processors, [&](size_t i) {
        const ProgressPart part(kFindSteps * calls[i]);
        find_steps(all[i]);
    });
    Collectives collectives;
    collectives.read_all(all, processors);
    collectives.match();
    std::vector<std::vector<DeviceBusy>> busy(all.size());
    in_parallel(all.size(), processors, [&](size_t i) {
        const TurnEnd end{run, all[i].rank_id};
        const ProgressPart part(kPass * calls[i], kPass);
        blaming(all[i].trace->path.string(), [&] {
            busy[i] = pass_over(all[i], collectives.waits_of(all[i].rank_id), run);
            write_rank(all[i], busy[i], run);
        });
    });
    const int64_t derived = kDerive * std::accumulate(calls.begin(), calls.end(), int64_t{0});
    const ProgressPart part(derived, derived / static_cast<int64_t>(kRunSqlFiles));
    blaming(any_of(inputs.traces), [&] {
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
