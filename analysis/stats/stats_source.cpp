#include "stats_source.h"

#include <utility>

#include "../text/units.h"
#include "spread.h"

namespace gpushim::analysis {

namespace {

// Times since the first process of the run began. Where a trace does not say when that was by everybody's
// clock, all of them are of one clock.
constexpr const char* kClock = R"(
CREATE TEMP TABLE clock AS
WITH began AS (
  SELECT trace, max(CAST(value AS INTEGER)) FILTER (WHERE key = 'started_real_ns') AS real_ns,
    max(CAST(value AS INTEGER)) FILTER (WHERE key = 'started_mono_ns') AS mono_ns
  FROM meta GROUP BY trace)
SELECT t.trace, t.rank, t.pid,
  CASE WHEN (SELECT count(*) = count(real_ns) FROM began)
    THEN b.real_ns - b.mono_ns - (SELECT min(real_ns) FROM began)
    ELSE -(SELECT min(mono_ns) FROM began) END AS shift_ns
FROM traces t JOIN began b ON b.trace = t.trace)";

constexpr const char* kOperationTable = R"(
CREATE TEMP TABLE operation AS
SELECT c.trace, c.pid, l.tid, l.thread_id, 'kernel' AS kind, coalesce(l.kernel, '(name not known)') AS name,
  l.api, l.enter_ns + c.shift_ns AS enter_ns, l.exit_ns + c.shift_ns AS exit_ns,
  l.device_start_ns + c.shift_ns AS start_ns, l.device_dur_ns AS dur_ns, NULL AS bytes, NULL AS blocking,
  NULL AS source, NULL AS target, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,
  l.shared_bytes, l.device, l.device_id, l.context_id, l.stream
FROM clock c CROSS JOIN v_launch l ON l.trace = c.trace
WHERE l.captured = 0 AND l.failed = 0 AND l.unfinished = 0
UNION ALL
SELECT c.trace, c.pid, o.tid, o.thread_id, 'copy',
  '[CUDA memcpy ' || CASE o.kind WHEN 'h2d' THEN 'Host-to-Device' WHEN 'd2h' THEN 'Device-to-Host'
    WHEN 'd2d' THEN 'Device-to-Device' WHEN 'p2p' THEN 'Peer-to-Peer' WHEN 'h2h' THEN 'Host-to-Host'
    ELSE 'Unknown' END || ']', o.api, o.enter_ns + c.shift_ns,
  o.exit_ns + c.shift_ns, o.device_start_ns + c.shift_ns, o.device_dur_ns, o.bytes, o.blocking, o.source,
  o.target,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, o.device, o.device_id, s.context_id, o.stream
FROM clock c CROSS JOIN v_copy o ON o.trace = c.trace
  LEFT JOIN v_stream s ON s.trace = c.trace AND s.id = o.stream_id
WHERE o.captured = 0 AND o.failed = 0 AND o.unfinished = 0
UNION ALL
SELECT c.trace, c.pid, m.tid, m.thread_id, 'memset', '[CUDA memset]', m.api, m.enter_ns + c.shift_ns,
  m.exit_ns + c.shift_ns, m.device_start_ns + c.shift_ns, m.device_dur_ns, m.bytes, m.blocking, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, m.device, m.device_id, s.context_id, m.stream
FROM clock c CROSS JOIN v_memset m ON m.trace = c.trace
  LEFT JOIN v_stream s ON s.trace = c.trace AND s.id = m.stream_id
WHERE m.captured = 0 AND m.failed = 0 AND m.unfinished = 0
UNION ALL
SELECT c.trace, c.pid, g.tid, g.thread_id, 'graph', 'graph ' || g.graph_id, 'cuGraphLaunch',
  g.enter_ns + c.shift_ns, g.exit_ns + c.shift_ns, g.device_start_ns + c.shift_ns, g.device_dur_ns, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, g.device, g.device_id, s.context_id, g.stream
FROM clock c CROSS JOIN v_graph_launch g ON g.trace = c.trace
  LEFT JOIN v_stream s ON s.trace = c.trace AND s.id = g.stream_id
WHERE g.captured = 0 AND g.failed = 0 AND g.unfinished = 0;
CREATE INDEX operation_by_thread ON operation (trace, thread_id, enter_ns))";

constexpr const char* kWaitTable = R"(
CREATE TEMP TABLE wait AS
SELECT c.trace, c.pid, s.tid, s.api, s.enter_ns + c.shift_ns AS start_ns, s.dur_ns
FROM clock c CROSS JOIN v_sync s ON s.trace = c.trace
WHERE s.failed = 0 AND s.unfinished = 0 AND s.api NOT LIKE '%Query%')";

// Of a range that is open nobody knows yet what it holds.
constexpr const char* kRangeTable = R"(
CREATE TEMP TABLE thread_range AS
SELECT c.trace, r.thread_id, r.kind, coalesce(r.domain, '') || ':' || coalesce(r.name, '') AS name,
  r.start_ns + c.shift_ns AS start_ns, r.end_ns + c.shift_ns AS end_ns, NULL AS depth, NULL AS children
FROM clock c CROSS JOIN v_range r ON r.trace = c.trace
WHERE r.end_ns IS NOT NULL)";

constexpr const char* kCallTable = R"(
CREATE TEMP TABLE call AS
SELECT a.name AS api, v.calls, v.dur_ns
FROM v_all v JOIN api a ON a.trace = v.trace AND a.id = v.api_id
WHERE v.dur_ns IS NOT NULL)";

struct Nested {
    int64_t row, thread, trace, end_ns;
    int64_t depth = 0, children = 0;
};

// In the order of their starts, the outer one first where two start together.
std::vector<Nested> nested_ranges(const Database& base) {
    std::vector<Nested> all;
    std::vector<size_t> open;
    Query range = base.prepare(
        "SELECT rowid, thread_id, trace, start_ns, end_ns FROM thread_range WHERE kind = 'thread'"
        " ORDER BY trace, thread_id, start_ns, end_ns DESC");
    while (range.step()) {
        Nested next = {range.number(0), range.number(1), range.number(2), range.number(4)};
        const auto is_outside = [&](const Nested& other) {
            return other.thread != next.thread || other.trace != next.trace || other.end_ns < next.end_ns;
        };
        while (!open.empty() && is_outside(all[open.back()])) open.pop_back();
        if (!open.empty()) ++all[open.back()].children;
        next.depth = static_cast<int64_t>(open.size());
        open.push_back(all.size());
        all.push_back(next);
    }
    return all;
}

int64_t number_of(const Database& base, const char* sql) {
    Query query = base.prepare(sql);
    query.step();
    return query.number(0);
}

}  // namespace

StatsSource::StatsSource(Database base) : base_(std::move(base)) {
    base_.run("PRAGMA query_only = OFF");
    add_spread(base_.raw());
    base_.run(kClock);
}

const Database& StatsSource::with(Wants wants) {
    if (wants == Wants::calls) add_calls();
    if (wants == Wants::waits) add_waits();
    if (wants == Wants::operations || wants == Wants::ranges) add_operations();
    if (wants == Wants::ranges) add_ranges();
    return base_;
}

void StatsSource::add_operations() {
    if (!std::exchange(has_operations_, true)) base_.run(kOperationTable);
}

void StatsSource::add_waits() {
    if (!std::exchange(has_waits_, true)) base_.run(kWaitTable);
}

void StatsSource::add_calls() {
    if (!std::exchange(has_calls_, true)) base_.run(kCallTable);
}

void StatsSource::add_ranges() {
    if (std::exchange(has_ranges_, true)) return;
    base_.run(kRangeTable);
    base_.run("BEGIN");
    for (const Nested& range : nested_ranges(base_)) {
        Query row = base_.prepare("UPDATE thread_range SET depth = ?2, children = ?3 WHERE rowid = ?1");
        row.bind(1, range.row);
        row.bind(2, range.depth);
        row.bind(3, range.children);
        row.step();
    }
    base_.run("COMMIT");
}

std::string StatsSource::operations_left_out() const {
    const int64_t all = number_of(base_, "SELECT count(*) FROM temp.operation");
    const int64_t timed = number_of(base_, "SELECT count(dur_ns) FROM temp.operation");
    if (timed == all) return "";
    return count_text(all - timed) + " of " + count_text(all) +
           " operations have no device times: times on the GPU are those of the others "
           "(`gpushim run --budget 100%` times all)";
}

std::string StatsSource::graphs_left_out() const {
    const int64_t launched =
        number_of(base_, "SELECT count(*) FROM temp.operation WHERE kind = 'graph' AND dur_ns IS NOT NULL");
    if (launched == 0) return "";
    return count_text(launched) +
           " launches of graphs were timed as a whole: the kernels and copies in them are in no sum";
}

// Rows that had to make room are kept as sums alone.
std::string StatsSource::calls_left_out() const {
    const int64_t all = number_of(base_, "SELECT coalesce(sum(calls), 0) FROM v_api_total");
    const int64_t rows = number_of(base_, "SELECT coalesce(sum(calls), 0) FROM v_all WHERE api_id NOT NULL");
    if (all <= rows) return "";
    return count_text(all - rows) + " of " + count_text(all) +
           " calls are kept as sums alone, and are in none of these tables: `gpushim report` counts them";
}

std::vector<std::string> StatsSource::left_out() const {
    std::vector<std::string> notes = {calls_left_out()};
    if (has_operations_) notes.push_back(operations_left_out());
    if (has_operations_) notes.push_back(graphs_left_out());
    std::erase(notes, "");
    return notes;
}

}  // namespace gpushim::analysis
