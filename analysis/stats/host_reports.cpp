#include "stats_report.h"

namespace gpushim::analysis {

namespace {

// Queries of one object in a row are one row: of each of them no time is known.
const std::string kCalls =
    R"sql(SELECT round(total_ns * 100.0 / sum(total_ns) OVER (), 1) AS "Time (%)",
  total_ns AS "Total Time (ns)",
  num_calls AS "Num Calls", round(total_ns * 1.0 / num_calls, 1) AS "Avg (ns)",
  CASE WHEN is_each THEN med END AS "Med (ns)", CASE WHEN is_each THEN low END AS "Min (ns)",
  CASE WHEN is_each THEN high END AS "Max (ns)", CASE WHEN is_each THEN deviation END AS "StdDev (ns)",
  api AS "Name"
FROM (SELECT api, sum(dur_ns) AS total_ns, sum(calls) AS num_calls, max(calls) = 1 AS is_each,
        round(median(dur_ns), 1) AS med, min(dur_ns) AS low, max(dur_ns) AS high,
        round(stdev(dur_ns), 1) AS deviation
      FROM call GROUP BY api) ORDER BY 2 DESC, api)sql";

// The launch from its call on; a kernel that began before its call returned waited in no queue. An imported
// one whose call was not recorded has no thread.
const std::string kLaunches =
    "SELECT pid AS \"PID\", tid AS \"TID\", device_id AS \"DevId\", count(*) AS \"Count\","
    " count(queued_ns) AS \"QCount\", " +
    spread_in_ns("total_ns", "T") + ", " + spread_in_ns("call_ns", "A") + ", " +
    spread_in_ns("queued_ns", "Q") + ", " + spread_in_ns("dur_ns", "K") + R"sql(,
  api AS "API Name", name AS "Kernel Name"
FROM (SELECT pid, tid, device_id, api, name, dur_ns, exit_ns - enter_ns AS call_ns,
        max(start_ns + dur_ns, exit_ns) - enter_ns AS total_ns,
        CASE WHEN start_ns > exit_ns THEN start_ns - exit_ns END AS queued_ns
      FROM operation WHERE kind = 'kernel' AND dur_ns IS NOT NULL AND tid IS NOT NULL)
GROUP BY pid, tid, device_id, api, name ORDER BY sum(total_ns) DESC, name)sql";

// A range on the GPU: from the start of the first to the end of the last operation whose call began in it.
const std::string kProjected =
    R"sql(WITH projected AS (
  SELECT r.name, CASE r.kind WHEN 'thread' THEN 'PushPop' ELSE 'StartEnd' END AS style,
    max(o.start_ns + o.dur_ns) - min(o.start_ns) AS dur_ns, r.end_ns - r.start_ns AS range_ns,
    count(*) AS operations, r.depth, r.children
  FROM thread_range r JOIN operation o ON o.trace = r.trace AND o.thread_id = r.thread_id
    AND o.enter_ns BETWEEN r.start_ns AND r.end_ns AND o.dur_ns IS NOT NULL
  GROUP BY r.rowid)
SELECT name AS "Range", style AS "Style", sum(dur_ns) AS "Total Proj Time (ns)",
  sum(range_ns) AS "Total Range Time (ns)", count(*) AS "Range Instances", )sql" +
    spread_in_ns("dur_ns", "Proj ") + R"sql(,
  sum(operations) AS "Total GPU Ops", round(avg(operations), 1) AS "Avg GPU Ops",
  round(avg(depth), 1) AS "Avg Range Lvl", round(avg(children), 1) AS "Avg Num Child"
FROM projected GROUP BY name, style ORDER BY 3 DESC, name)sql";

}  // namespace

std::vector<StatsReport> host_reports() {
    return {
        {"nvtx_gpu_proj_sum", "NVTX GPU Projection Summary", Wants::ranges, kProjected},
        {"cuda_api_sum", "CUDA API Summary", Wants::calls, kCalls, "compat_nsys_api_sum"},
        {"cuda_kern_exec_sum", "CUDA Kernel Launch & Exec Time Summary", Wants::operations, kLaunches},
    };
}

}  // namespace gpushim::analysis
