-- Other tools' breakdowns by their definitions and in their units, of what was timed here. Not ours: sums of
-- durations count what ran at the same time twice.

-- nsys stats, cuda_gpu_kern_sum, over all GPUs. The median of several GPUs is the mean of theirs.
CREATE VIEW compat_nsys_kern_sum AS
SELECT round(100.0 * sum(sum_ns) / nullif(sum(sum(sum_ns)) OVER (), 0), 1) AS "Time (%)",
  sum(sum_ns) AS "Total Time (ns)", sum(timed) AS "Instances",
  sum(sum_ns) * 1.0 / sum(timed) AS "Avg (ns)",
  sum(p50_ns * 1.0 * timed) / sum(timed) AS "Med (ns)",
  min(min_ns) AS "Min (ns)", max(max_ns) AS "Max (ns)",
  CASE WHEN sum(timed) < 2 THEN 0.0 ELSE
    sqrt(max(0.0, (sum(squares_ns2) - sum(sum_ns) * 1.0 * sum(sum_ns) / sum(timed)) / (sum(timed) - 1)))
  END AS "StdDev (ns)",
  name AS "Name"
FROM kernel WHERE timed > 0
GROUP BY name ORDER BY sum(sum_ns) DESC, name;

-- nsys stats, cuda_api_sum, of all ranks. Median and spread are of the calls whose rows are there.
CREATE VIEW compat_nsys_api_sum AS
SELECT round(100.0 * sum(sum_ns) / nullif(sum(sum(sum_ns)) OVER (), 0), 1) AS "Time (%)",
  sum(sum_ns) AS "Total Time (ns)", sum(calls) AS "Num Calls",
  sum(sum_ns) * 1.0 / sum(calls) AS "Avg (ns)",
  sum(p50_ns * 1.0 * rows) / nullif(sum(CASE WHEN p50_ns IS NOT NULL THEN rows END), 0) AS "Med (ns)",
  min(min_ns) AS "Min (ns)", max(max_ns) AS "Max (ns)",
  CASE WHEN sum(rows) = 1 THEN 0.0 WHEN sum(rows) > 1 THEN
    sqrt(max(0.0, (sum(squares_ns2) - sum(rows_sum_ns) * 1.0 * sum(rows_sum_ns) / sum(rows)) /
      (sum(rows) - 1)))
  END AS "StdDev (ns)",
  api AS "Name"
FROM api_stat WHERE calls > 0 AND api NOT LIKE '(%'   -- calls that have no name are none
GROUP BY api ORDER BY sum(sum_ns) DESC, api;

-- nsys stats, cuda_gpu_mem_size_sum: MB are 1e6 bytes. The median is of rows of copies that are alike, each
-- by its mean; NULL for memsets, whose sizes are summed up only.
CREATE VIEW compat_nsys_mem_size_sum AS
WITH
  operations AS (
    SELECT CASE kind WHEN 'h2d' THEN '[CUDA memcpy Host-to-Device]'
        WHEN 'd2h' THEN '[CUDA memcpy Device-to-Host]' WHEN 'd2d' THEN '[CUDA memcpy Device-to-Device]'
        WHEN 'p2p' THEN '[CUDA memcpy Peer-to-Peer]' ELSE '[CUDA memcpy]' END AS operation,
      count, bytes, min_bytes, max_bytes, squares_bytes2, bytes * 1.0 / count AS mean_bytes
    FROM copy_stat WHERE count > 0
    UNION ALL
    SELECT '[CUDA memset]', count, bytes, min_bytes, max_bytes, squares_bytes2, NULL
    FROM memset_stat WHERE count > 0),
  ranked AS (
    SELECT operation, mean_bytes, sum(count) OVER (PARTITION BY operation) AS whole,
      sum(count) OVER (PARTITION BY operation ORDER BY mean_bytes
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to
    FROM operations WHERE mean_bytes IS NOT NULL),
  middle AS (
    SELECT operation, min(mean_bytes) AS p50_bytes FROM ranked WHERE 2 * up_to >= whole GROUP BY operation)
SELECT sum(o.bytes) / 1e6 AS "Total (MB)", sum(o.count) AS "Count",
  sum(o.bytes) / 1e6 / sum(o.count) AS "Avg (MB)", max(m.p50_bytes) / 1e6 AS "Med (MB)",
  min(o.min_bytes) / 1e6 AS "Min (MB)", max(o.max_bytes) / 1e6 AS "Max (MB)",
  CASE WHEN sum(o.count) < 2 THEN 0.0 WHEN count(o.squares_bytes2) = count(*) THEN
    sqrt(max(0.0, (sum(o.squares_bytes2) - sum(o.bytes) * 1.0 * sum(o.bytes) / sum(o.count)) /
      (sum(o.count) - 1)))
    / 1e6
  END AS "StdDev (MB)",                             -- NULL: rows of some are gone
  o.operation AS "Operation"
FROM operations o LEFT JOIN middle m ON m.operation = o.operation
GROUP BY o.operation ORDER BY sum(o.bytes) DESC, o.operation;

-- RPD's `top`, in us: kernels, copies, memsets, launches of graphs.
CREATE VIEW compat_rpd_top AS
WITH operations AS (
  SELECT name, sum(timed) AS calls, sum(sum_ns) AS sum_ns FROM kernel GROUP BY name
  UNION ALL
  SELECT CASE kind WHEN 'h2d' THEN 'CopyHostToDevice' WHEN 'd2h' THEN 'CopyDeviceToHost'
      WHEN 'unknown' THEN 'Copy' ELSE 'CopyDeviceToDevice' END, sum(timed), sum(sum_ns)
  FROM copy_stat GROUP BY 1
  UNION ALL
  SELECT 'FillBuffer', sum(timed), sum(sum_ns) FROM memset_stat)
SELECT name AS Name, calls AS TotalCalls, sum_ns / 1000 AS TotalDuration, sum_ns / calls / 1000 AS Ave,
  sum_ns * 100.0 / (SELECT sum(sum_ns) FROM operations) AS Percentage
FROM operations WHERE calls > 0
ORDER BY sum_ns DESC, name;

-- RPD's `busy`: durations of all streams added up, over the first start to the last end on any GPU, so it may
-- exceed 1. Where only windows were timed it is over those.
CREATE VIEW compat_rpd_busy AS
WITH
  known AS (SELECT gpu_id, sum(ns) AS ns FROM activity GROUP BY gpu_id),
  wall AS (
    SELECT min(max(last_ns) - min(first_ns), coalesce((SELECT max(ns) FROM known), 9223372036854775807)) AS ns
    FROM stream_stat)
SELECT g.gpu_id AS gpuId, sum(s.busy_ns) / 1000 AS GpuTime, max(wall.ns) / 1000 AS WallTime,
  sum(s.busy_ns) * 1.0 / max(wall.ns) AS Busy
FROM gpu g JOIN stream_stat s ON s.gpu_id = g.gpu_id JOIN wall ON wall.ns > 0
GROUP BY g.gpu_id;

-- TensorFlow's step breakdown: of what is going on at one time the first of device compute, output, device to
-- device, collectives, input counts; what is left is the host's. Compilation is not told from allocation.
CREATE VIEW compat_tf_step AS
WITH
  piece AS (
    SELECT gpu_id, step, ns,
      CASE WHEN classes & 385 > 0 THEN 'device_compute' WHEN classes & 16 > 0 THEN 'output'
        WHEN classes & 608 > 0 THEN 'device_to_device' WHEN classes & 6 > 0 THEN 'collectives'
        ELSE 'input' END AS class
    FROM activity WHERE classes > 0
    UNION ALL
    SELECT gpu_id, step, ns,
      CASE WHEN cause IN ('input_loading', 'input_wait', 'input_cpu', 'copy_staging') THEN 'input'
        WHEN cause IN ('launch_call', 'launch_bound', 'launching_other_gpu', 'launch_latency', 'kernel_gap')
          THEN 'kernel_launch'
        WHEN cause IN ('wait_other_gpu') THEN 'device_to_device'
        WHEN cause IN ('alloc_or_load', 'slow_call', 'graph_update') THEN 'compilation'
        WHEN cause IN ('framework', 'operator_cpu', 'optimizer', 'python', 'between_launches',
          'callback', 'interpreter_lock', 'garbage_collection', 'host_cpu', 'comm_host',
          'wait_host_callback') THEN 'host_compute'
        ELSE 'others' END
    FROM gap)
SELECT r.rank, g.uuid AS gpu, p.gpu_id, p.step,
  sum(CASE WHEN class = 'device_compute' THEN ns ELSE 0 END) AS device_compute_ns,
  sum(CASE WHEN class = 'device_to_device' THEN ns ELSE 0 END) AS device_to_device_ns,
  sum(CASE WHEN class = 'collectives' THEN ns ELSE 0 END) AS device_collective_communication_ns,
  sum(CASE WHEN class = 'host_compute' THEN ns ELSE 0 END) AS host_compute_ns,
  sum(CASE WHEN class = 'kernel_launch' THEN ns ELSE 0 END) AS kernel_launch_ns,
  sum(CASE WHEN class = 'input' THEN ns ELSE 0 END) AS input_ns,
  sum(CASE WHEN class = 'output' THEN ns ELSE 0 END) AS output_ns,
  sum(CASE WHEN class = 'compilation' THEN ns ELSE 0 END) AS compilation_ns,
  sum(CASE WHEN class = 'others' THEN ns ELSE 0 END) AS all_others_ns,
  sum(ns) AS step_ns
FROM piece p
JOIN gpu g ON g.gpu_id = p.gpu_id
LEFT JOIN rank r ON r.rank_id = g.rank_id
WHERE p.step >= 0
GROUP BY p.gpu_id, p.step;

-- PyTorch's step breakdown (TensorBoard plugin), by its priority: kernel, memcpy, memset, communication,
-- runtime, data loader, other code of the host, rest. Where PyTorch's profiler recorded operators, it is that
-- tool's own (`source` is 'profiler', table torch_step): of all GPUs of the process; `gpu` is NULL then if
-- there are several. Collectives are kernels then, but for those that operators launched whose names that
-- tool knows (nccl:all_reduce and so on). Elsewhere (`source` is 'causes') idle time is what its cause comes
-- nearest to, of our steps and each GPU; operators of the framework are not seen.
CREATE VIEW compat_torch_step AS
WITH
  piece AS (
    SELECT gpu_id, step, ns,
      CASE WHEN classes & 257 > 0 THEN 'kernel' WHEN classes & 632 > 0 THEN 'memcpy'
        WHEN classes & 128 > 0 THEN 'memset' ELSE 'communication' END AS class
    FROM activity WHERE classes > 0
    UNION ALL
    SELECT gpu_id, step, ns,
      CASE WHEN cause IN ('sync', 'sync_other_gpu', 'copy_staging', 'alloc_or_load', 'slow_call',
          'graph_update', 'comm_host', 'launching_other_gpu', 'launch_bound', 'launch_call') THEN 'runtime'
        WHEN cause IN ('input_loading', 'input_wait', 'input_cpu') THEN 'dataloader'
        WHEN cause IN ('framework', 'operator_cpu', 'optimizer', 'between_launches', 'host_cpu',
          'host_blocked', 'wait_host_callback')
          THEN 'cpu_exec'
        ELSE 'other' END
    FROM gap),
  only_gpu AS (SELECT rank_id, min(gpu_id) AS gpu_id, min(uuid) AS uuid FROM gpu GROUP BY rank_id
    HAVING count(*) = 1)
SELECT r.rank, g.uuid AS gpu, p.gpu_id, p.step,
  sum(CASE WHEN class = 'kernel' THEN ns ELSE 0 END) AS kernel_ns,
  sum(CASE WHEN class = 'memcpy' THEN ns ELSE 0 END) AS memcpy_ns,
  sum(CASE WHEN class = 'memset' THEN ns ELSE 0 END) AS memset_ns,
  sum(CASE WHEN class = 'communication' THEN ns ELSE 0 END) AS communication_ns,
  sum(CASE WHEN class = 'runtime' THEN ns ELSE 0 END) AS runtime_ns,
  sum(CASE WHEN class = 'dataloader' THEN ns ELSE 0 END) AS dataloader_ns,
  sum(CASE WHEN class = 'cpu_exec' THEN ns ELSE 0 END) AS cpu_exec_ns,
  sum(CASE WHEN class = 'other' THEN ns ELSE 0 END) AS other_ns,
  sum(ns) AS step_ns, 'causes' AS source
FROM piece p
JOIN gpu g ON g.gpu_id = p.gpu_id
LEFT JOIN rank r ON r.rank_id = g.rank_id
WHERE p.step >= 0 AND NOT EXISTS (SELECT 1 FROM torch_step t WHERE t.rank_id = g.rank_id)
GROUP BY p.gpu_id, p.step
UNION ALL
SELECT r.rank, o.uuid, o.gpu_id, t.number, t.kernel_ns, t.memcpy_ns, t.memset_ns, t.communication_ns,
  t.runtime_ns, t.dataloader_ns, t.cpu_exec_ns, t.other_ns, t.dur_ns, 'profiler'
FROM torch_step t
LEFT JOIN rank r ON r.rank_id = t.rank_id
LEFT JOIN only_gpu o ON o.rank_id = t.rank_id;
