#include "stats_report.h"

namespace gpushim::analysis {

namespace {

const std::string kShareAndSum =
    "round(sum(dur_ns) * 100.0 / sum(sum(dur_ns)) OVER (), 1) AS \"Time (%)\","
    " sum(dur_ns) AS \"Total Time (ns)\", ";

const std::string kTrace = R"sql(
SELECT start_ns AS "Start (ns)", dur_ns AS "Duration (ns)", NULL AS "CorrId",
  grid_x AS "GrdX", grid_y AS "GrdY", grid_z AS "GrdZ", block_x AS "BlkX", block_y AS "BlkY",
  block_z AS "BlkZ", NULL AS "Reg/Trd", NULL AS "StcSMem (MB)",
  round(shared_bytes / 1e6, 3) AS "DymSMem (MB)",
  round(bytes / 1e6, 3) AS "Bytes (MB)",
  CASE WHEN dur_ns > 0 THEN round(bytes * 1e3 / dur_ns, 3) END AS "Throughput (MB/s)",
  upper(substr(source, 1, 1)) || substr(source, 2) AS "SrcMemKd",
  upper(substr(target, 1, 1)) || substr(target, 2) AS "DstMemKd",
  coalesce(device, 'GPU') || ' (' || device_id || ')' ||
    CASE WHEN (SELECT count(*) FROM clock) > 1 THEN coalesce((SELECT ' of rank ' || rank FROM clock
      WHERE clock.trace = operation.trace AND rank IS NOT NULL), ' of process ' || pid) ELSE '' END
    AS "Device",
  context_id AS "Ctx", NULL AS "GreenCtx", stream AS "Strm", name AS "Name"
FROM operation WHERE dur_ns IS NOT NULL
ORDER BY start_ns, operation.rowid)sql";

}  // namespace

std::vector<StatsReport> gpu_reports() {
    return {
        {"cuda_gpu_kern_sum", "CUDA GPU Kernel Summary", Wants::operations,
         "SELECT " + kShareAndSum + "count(*) AS \"Instances\", " + spread_in_ns("dur_ns") +
             ", name AS \"Name\" FROM operation WHERE kind = 'kernel' AND dur_ns IS NOT NULL"
             " GROUP BY name ORDER BY 2 DESC, name",
         "compat_nsys_kern_sum"},
        {"cuda_gpu_kern_gb_sum", "CUDA GPU Kernel/Grid/Block Summary", Wants::operations,
         "SELECT " + kShareAndSum + "count(*) AS \"Instances\", " + spread_in_ns("dur_ns") +
             ", printf('%4d %4d %4d', grid_x, grid_y, grid_z) AS \"GridXYZ\","
             " printf('%4d %4d %4d', block_x, block_y, block_z) AS \"BlockXYZ\", name AS \"Name\""
             " FROM operation WHERE kind = 'kernel' AND dur_ns IS NOT NULL"
             " GROUP BY name, grid_x, grid_y, grid_z, block_x, block_y, block_z"
             " ORDER BY 2 DESC, name, 9, 10"},
        {"cuda_gpu_mem_time_sum", "CUDA GPU MemOps Summary (by Time)", Wants::operations,
         "SELECT " + kShareAndSum + "count(*) AS \"Count\", " + spread_in_ns("dur_ns") +
             ", name AS \"Operation\" FROM operation WHERE kind IN ('copy', 'memset') AND dur_ns IS NOT NULL"
             " GROUP BY name ORDER BY 2 DESC, name"},
        // A size is known of each, whether it was timed or not.
        {"cuda_gpu_mem_size_sum", "CUDA GPU MemOps Summary (by Size)", Wants::operations,
         "SELECT round(sum(bytes) / 1e6, 3) AS \"Total (MB)\", count(*) AS \"Count\", " +
             spread_in_mb("bytes") +
             ", name AS \"Operation\" FROM operation WHERE kind IN ('copy', 'memset') AND bytes IS NOT NULL"
             " GROUP BY name ORDER BY sum(bytes) DESC, name",
         "compat_nsys_mem_size_sum"},
        {"cuda_gpu_trace", "CUDA GPU Trace", Wants::operations, kTrace},
    };
}

}  // namespace gpushim::analysis
