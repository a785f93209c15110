#include "stats_report.h"

namespace gpushim::analysis {

namespace {

const std::string kLongest50 = " ORDER BY dur_ns DESC, start_ns, operation.rowid LIMIT 50";

// One row an operation. Its memory is told of by `memory`, columns with a comma behind them.
std::string operations_where(const std::string& memory, const std::string& condition) {
    return "SELECT dur_ns AS \"Duration (ns)\", start_ns AS \"Start (ns)\", " + memory +
           " round(bytes / 1e6, 3) AS \"Bytes (MB)\", pid AS \"PID\", device_id AS \"Device ID\","
           " context_id AS \"Context ID\", NULL AS \"Green Context ID\", stream AS \"Stream ID\","
           " api AS \"API Name\" FROM operation WHERE " +
           condition + kLongest50;
}

const std::string kSides =
    "upper(substr(source, 1, 1)) || substr(source, 2) AS \"Src Kind\","
    " upper(substr(target, 1, 1)) || substr(target, 2) AS \"Dst Kind\",";

// Copies within a GPU and small ones to it return before they are done, whatever the call.
const std::string kBlockingCopies =
    "kind = 'copy' AND blocking = 1 AND (coalesce(source, '') != 'device' OR coalesce(target, '') != "
    "'device')"
    " AND (target IS NOT 'device' OR bytes > 65536)";

// Of what ran at the same time only the union is time in use. Of a span in which something without device
// times was called it is not known.
constexpr const char* kLittleUsed = R"sql(
WITH RECURSIVE number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number WHERE i < 29),
whole AS (
  SELECT trace, pid, device_id, context_id, min(start_ns) AS low, max(start_ns + dur_ns) AS high
  FROM operation WHERE dur_ns IS NOT NULL GROUP BY trace, pid, device_id, context_id),
span AS MATERIALIZED (
  SELECT row_number() OVER () AS id, trace, pid, device_id, context_id, low + (high - low) * i / 30 AS low,
    low + (high - low) * (i + 1) / 30 AS high
  FROM whole, number WHERE high - low >= 30),
reached AS (
  SELECT trace, device_id, context_id, start_ns, start_ns + dur_ns AS end_ns,
    max(start_ns + dur_ns) OVER (PARTITION BY trace, device_id, context_id ORDER BY start_ns, operation.rowid
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM operation WHERE dur_ns IS NOT NULL),
alone AS MATERIALIZED (
  SELECT trace, device_id, context_id, max(start_ns, coalesce(before_ns, start_ns)) AS low, end_ns AS high
  FROM reached WHERE before_ns IS NULL OR end_ns > before_ns),
untimed AS MATERIALIZED (
  SELECT trace, device_id, context_id, enter_ns AS low, high FROM (
    SELECT *, min(start_ns) OVER (PARTITION BY trace, device_id, context_id, stream
      ORDER BY enter_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS high FROM operation)
  WHERE dur_ns IS NULL),
unknown AS MATERIALIZED (
  SELECT DISTINCT s.id FROM span s JOIN untimed u ON u.trace = s.trace AND u.device_id IS s.device_id
    AND u.context_id IS s.context_id AND u.low < s.high AND coalesce(u.high, s.high) >= s.low),
used AS (
  SELECT s.id, s.pid, s.device_id, s.context_id, s.low, s.high,
    coalesce(sum(min(a.high, s.high) - max(a.low, s.low)), 0) AS used_ns
  FROM span s LEFT JOIN alone a ON a.trace = s.trace AND a.device_id IS s.device_id
    AND a.context_id IS s.context_id AND a.low < s.high AND a.high > s.low
  GROUP BY s.id),
known AS (
  SELECT *, CASE WHEN id NOT IN (SELECT id FROM unknown) THEN used_ns * 1.0 / (high - low) END AS share
  FROM used)
SELECT round(share * 100, 1) AS "In-Use (%)", high - low AS "Duration (ns)",
  low AS "Start (ns)", pid AS "PID", device_id AS "Device ID", context_id AS "Context ID"
FROM known WHERE share IS NULL OR share < 0.5
ORDER BY share NULLS LAST, low LIMIT 50)sql";

constexpr const char* kWaits = R"sql(
SELECT dur_ns AS "Duration (ns)", start_ns AS "Start (ns)", pid AS "PID", tid AS "TID", api AS "API Name"
FROM wait ORDER BY dur_ns DESC, start_ns LIMIT 50)sql";

}  // namespace

std::vector<StatsReport> rule_reports() {
    return {
        {"cuda_memcpy_async", "Asynchronous copies of pageable memory, which the host waits for",
         Wants::operations,
         operations_where(kSides, "kind = 'copy' AND blocking = 0 AND 'pageable' IN (source, target)")},
        {"cuda_memcpy_sync", "Copies that the host waits for", Wants::operations,
         operations_where(kSides, kBlockingCopies)},
        {"cuda_memset_sync", "Memsets by calls that may wait", Wants::operations,
         operations_where("NULL AS \"Memory Kind\",", "kind = 'memset' AND blocking = 1"), nullptr,
         "which memory a memset writes is not recorded: the call waits where that is pinned memory of the "
         "host, or managed memory, and returns at once where it is the GPU's"},
        {"cuda_api_sync", "Calls that wait for the GPU", Wants::waits, kWaits},
        {"gpu_time_util", "Thirtieths of the run in which a GPU was in use for less than half of the time",
         Wants::operations, kLittleUsed},
    };
}

}  // namespace gpushim::analysis
