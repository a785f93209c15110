#include "rank_rows.h"

#include <algorithm>
#include <set>
#include <string>

#include "../../trace/dropped_spans.h"
#include "../../trace/ledger.h"
#include "../pass/make_facts.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

namespace {

Value text_of(const std::string& text) { return text.empty() ? Value(nullptr) : Value(text); }

// The first row of a query, NULLs where there is none.
class FirstRow {
  public:
    FirstRow(const Trace& trace, const std::string& sql)
        : query_(trace.base.prepare(sql)), there_(query_.step()) {}
    Value operator[](int column) const { return there_ ? query_.value(column) : Value(nullptr); }
    std::optional<double> real(int column) const {
        if (!there_ || query_.is_null(column)) return {};
        return query_.real(column);
    }

  private:
    Query query_;
    bool there_;
};

std::string level_of(const Trace& trace) {
    if (trace.base.is_of_first_schema()) return "host";
    Query levels = trace.base.prepare(
        "SELECT level FROM level_error e WHERE EXISTS (SELECT 1 FROM launch_device WHERE level_error_id = "
        "e.id)"
        " LIMIT 1");
    return levels.step() ? levels.text(0) : "host";
}

// Of another tool's trace by what that is called.
std::string level_of(const DeviceBusy& busy, const Trace& trace) {
    if (busy.level() == "host" || trace.base.is_of_first_schema()) return busy.level();
    Query source = trace.base.prepare("SELECT value FROM meta WHERE key = 'source'");
    return source.step() ? source.text(0) : busy.level();
}

// Marks go before ranges, and the thread that has most of them steps.
constexpr const char* kMarkedSteps =
    "SELECT sum(steps) FROM step_total WHERE source IN ('mark', 'range') GROUP BY source, thread_id"
    " ORDER BY source, 1 DESC LIMIT 1";

constexpr const char* kCalls[] = {"launch", "graph_launch", "copy", "memset", "collective"};

Query calls_in(const Trace& trace, const std::string& columns, const std::string& table,
               const std::string& which, Interval span) {
    Query rows = trace.base.prepare("SELECT " + columns + " FROM " + table + " t" + which +
                                    " enter_ns >= ?1 AND enter_ns < ?2");
    rows.bind(1, span.start_ns);
    rows.bind(2, span.end_ns);
    return rows;
}

// Which calls are of GPUs that worked in the span, as a condition: another GPU's are no sign of a step.
std::string of_gpus_in(const Trace& trace, Interval span) {
    if (!trace.base.has("context") || !trace.base.has("stream")) return " WHERE";
    Query gpus = trace.base.prepare("SELECT count(DISTINCT device_id) FROM context");
    if (!gpus.step() || gpus.number(0) < 2) return " WHERE";
    std::set<int64_t> worked;
    for (const char* table : kCalls) {
        if (!trace.base.has(table)) continue;
        Query devices = calls_in(trace, "DISTINCT c.device_id", table,
                                 " JOIN stream s ON s.id = t.stream_id JOIN context c ON c.id = s.context_id"
                                 " WHERE c.device_id NOTNULL AND",
                                 span);
        while (devices.step()) worked.insert(devices.number(0));
    }
    if (worked.empty()) return " WHERE";
    std::string list;
    for (const int64_t device : worked) list += (list.empty() ? "" : ", ") + std::to_string(device);
    return " WHERE stream_id IN (SELECT s.id FROM stream s JOIN context c ON c.id = s.context_id"
           " WHERE c.device_id IN (" +
           list + ")) AND";
}

int64_t operations_in(const Trace& trace, const std::string& which, Interval span) {
    int64_t sum = 0;
    for (const char* table : kCalls) {
        if (!trace.base.has(table)) continue;
        Query row = calls_in(trace, "count(*)", table, which, span);
        row.step();
        sum += row.number(0);
    }
    return sum;
}

// Before the first step and behind the last one that is whole there may be one more each: if at least half as
// much was launched there.
Value outside_steps(const TraceFacts& facts) {
    const auto whole = std::find_if(facts.steps.rbegin(), facts.steps.rend(),
                                    [](const Step& step) { return !step.is_left_out; });
    if (facts.are_slices || whole == facts.steps.rend()) return nullptr;
    const Interval last = facts.called_in(facts.steps.size() - 1);
    const int64_t end_ns = has_no_end(facts.steps.back()) ? last.start_ns : last.end_ns;
    const Interval one = facts.called_in(static_cast<size_t>(facts.steps.rend() - whole) - 1);
    const std::string which =
        of_gpus_in(*facts.trace, one) + (facts.called.empty() ? "" : " dur_ns NOTNULL AND");  // has a call
    const int64_t usual = operations_in(*facts.trace, which, one);
    if (usual == 0) return nullptr;
    const auto is_step = [&](Interval span) { return 2 * operations_in(*facts.trace, which, span) >= usual; };
    return int64_t{is_step({INT64_MIN, facts.called_in(0).start_ns})} + is_step({end_ns, INT64_MAX});
}

void write_trace(const TraceFacts& facts, std::optional<Interval> span, RunDb& run) {
    const Trace& trace = *facts.trace;
    const Ledger ledger = ledger_of(trace.base);
    const bool has_cost = !trace.base.is_of_first_schema();
    const FirstRow cost(trace, has_cost ? "SELECT sum(busiest_ns) * 1.0 / nullif(sum(span_ns), 0),"
                                          " sum(writer_cpu_ns) * 1.0 / nullif(sum(span_ns), 0) FROM cost"
                                        : "SELECT NULL, NULL");
    const FirstRow budget(trace, "SELECT value / 1e6 FROM meta WHERE key = 'budget_ppm'");
    const FirstRow marked(trace, has_cost ? kMarkedSteps : "SELECT NULL");
    const Steps& found = facts.found;
    run.add("program", {facts.rank_id, std::string(name_of(facts.served.program)), facts.served.confidence,
                        facts.served.why, facts.served.do_batches_end ? 1 : 0});
    run.add("rank", {facts.rank_id,
                     maybe(trace.rank),
                     maybe(trace.world_size),
                     text_of(trace.host),
                     trace.pid,
                     text_of(trace.executable),
                     text_of(trace.uuid),
                     trace.path.string(),
                     trace.started_real_ns > 0 ? Value(trace.started_real_ns) : Value(nullptr),
                     span ? Value(span->start_ns) : Value(nullptr),
                     span ? Value(span->end_ns) : Value(nullptr),
                     ledger.produced,
                     ledger.recorded,
                     ledger.recovered,
                     ledger.unfinished,
                     ledger.dropped,
                     ledger.unknown,
                     level_of(trace),
                     facts.clock_error_ns,
                     cost[0],
                     budget[0],
                     cost[1],
                     found.source,
                     text_of(found.anchor),
                     facts.are_slices ? Value(nullptr) : Value(found.confidence),
                     text_of(found.why),
                     int64_t{found.micro_steps},
                     int64_t{!dropped_spans(trace).empty()},
                     marked[0],
                     outside_steps(facts),
                     int64_t{!facts.called.empty()}});
    Query drops = trace.base.prepare("SELECT reason, events FROM v_drop WHERE events > 0");
    while (drops.step()) run.add("drop", {facts.rank_id, drops.text(0), drops.number(1)});
    Query variables = trace.base.prepare("SELECT name, value FROM environment");
    while (variables.step()) run.add("environment", {facts.rank_id, variables.text(0), variables.text(1)});
}

// Traces of before and of other tools do not have it.
Value gaps_calibrated(const Trace& trace, int64_t device_id) {
    if (!trace.base.columns_of("v_device_clock").contains("gaps_calibrated")) return nullptr;
    return FirstRow(trace, "SELECT min(gaps_calibrated) FROM v_device_clock WHERE device_id = " +
                               std::to_string(device_id))[0];
}

void write_gpu(const TraceFacts& facts, const Gpu& gpu, const DeviceBusy* busy, RunDb& run) {
    const std::string device = std::to_string(gpu.device_id);
    const FirstRow memory(*facts.trace,
                          "SELECT max(peak_bytes), max(device_bytes) FROM v_memory_peak"
                          " WHERE kind = 'device' AND device_id = " +
                              device);
    const FirstRow size(*facts.trace, "SELECT memory_bytes FROM device WHERE id = " + device);
    Figure own, certain, ran;
    std::string why = "no stream of it was used";
    if (busy != nullptr) {
        own = busy->without_us();
        certain = busy->certain();
        ran = busy->as_it_ran();
        why = own.share ? "" : busy->why();
    }
    const bool known = busy != nullptr;
    run.add("gpu", {gpu.gpu_id,
                    facts.rank_id,
                    gpu.device_id,
                    text_of(gpu.uuid),
                    gpu.name,
                    int64_t{gpu.simulated},
                    size[0],
                    memory[0],
                    known ? Value(busy->run.length_ns()) : Value(nullptr),
                    maybe(own.share),
                    known ? Value(certain.low) : Value(nullptr),
                    known ? Value(certain.high) : Value(nullptr),
                    own.share ? Value(own.low) : Value(nullptr),
                    own.share ? Value(own.high) : Value(nullptr),
                    maybe(ran.share),
                    known ? Value(ran.low) : Value(nullptr),
                    known ? Value(ran.high) : Value(nullptr),
                    known ? Value(level_of(*busy, *facts.trace)) : Value(nullptr),
                    known ? maybe(busy->coverage()) : Value(nullptr),
                    known ? Value(busy->timed_share()) : Value(nullptr),
                    known ? Value(busy->windows_that_count()) : Value(nullptr),
                    text_of(why),
                    gpu.idle.latency_ns,
                    gpu.idle.latency_p95_ns,
                    gpu.idle.kernel_gap_ns,
                    gaps_calibrated(*facts.trace, gpu.device_id),
                    known ? maybe(busy->timed_until_ns()) : Value(nullptr),
                    known ? Value(busy->open_share()) : Value(nullptr),
                    known ? Value(busy->inferred_share()) : Value(nullptr),
                    nullptr});
}

void write_steps(const TraceFacts& facts, RunDb& run) {
    RowsInOrder steps(run, "step"), iterations(run, "iteration");
    WrittenRank written = {facts.rank_id, facts.found.source == "none"};
    for (size_t i = 0; i < facts.steps.size(); ++i) {
        const Step& step = facts.steps[i];
        steps.add({facts.rank_id, static_cast<int64_t>(i), step.number, step.begin_ns, step.length_ns(),
                   static_cast<int64_t>(step.signature), plain(step.samples), int64_t{step.is_warm_up},
                   int64_t{step.is_left_out},
                   step.why_left_out.empty() ? PlainValue(nullptr) : PlainValue(step.why_left_out),
                   int64_t{step.has_load}});
        if (!step.is_warm_up && !step.is_left_out)
            written.steps.push_back({step.number, step.begin_ns, step.length_ns(), static_cast<int32_t>(i)});
    }
    for (size_t i = 0; i < facts.iterations.size(); ++i) {
        const Iteration& one = facts.iterations[i];
        iterations.add({facts.rank_id, static_cast<int64_t>(i), name_of(one.kind), int64_t{one.of_class},
                        one.graphs, one.launches});
    }
    steps.end();
    iterations.end();
    run.keep(std::move(written));
}

}  // namespace

void write_rank(const TraceFacts& facts, std::span<const DeviceBusy> busy, RunDb& run) {
    const Interval span = busy.empty() ? span_of(*facts.trace) : busy.back().run;
    write_trace(facts, span.end_ns > span.start_ns ? std::optional(span) : std::nullopt, run);
    for (const Gpu& gpu : facts.gpus) {
        const DeviceBusy* found = nullptr;
        for (const DeviceBusy& device : busy)
            if (device.device_id == gpu.device_id) found = &device;
        write_gpu(facts, gpu, found, run);
    }
    write_steps(facts, run);
}

void write_between_ranks(const CollectiveRun& all, RunDb& run, const ReplayLimits& limits) {
    write_clocks(all, run);
    write_skew(all, limits, run);
    write_across(all, run);
    write_first_gpu(all, run);
    write_together(all, run);
}

}  // namespace gpushim::analysis
