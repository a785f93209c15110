-- Launching, as steps and kernels show it.

-- Launches in all steps of the run, without those outside of them; see v_kernel_work.
CREATE VIEW v_launch_work AS
SELECT l.gpu_id, l.stream_id, coalesce(l.in_steps * w.times, l.count) AS executed
FROM launch_stat l LEFT JOIN step_work w ON w.gpu_id = l.gpu_id;

-- Steps of a GPU: it is launch bound if the host's launch calls and the time between them (below 20 us each)
-- are longer than what the kernels took on the device.
CREATE VIEW v_launch_bound AS
SELECT r.rank, g.uuid AS gpu, s.gpu_id, s.step, s.api_ns, s.between_ns,
  k.ns AS kernel_ns,                                -- time in which a kernel or graph ran
  s.api_ns + s.between_ns > k.ns AS launch_bound
FROM gpu_step s
JOIN (
  SELECT gpu_id, step, sum(CASE WHEN classes & 263 > 0 THEN ns ELSE 0 END) AS ns
  FROM activity GROUP BY gpu_id, step) k ON k.gpu_id = s.gpu_id AND k.step = s.step
JOIN gpu g ON g.gpu_id = s.gpu_id
LEFT JOIN rank r ON r.rank_id = g.rank_id
WHERE s.step >= 0;

-- Small kernels of each GPU, in what was timed: how many, and what fusing them or a graph could gain at most.
CREATE VIEW v_small_kernels AS
SELECT r.rank, g.uuid AS gpu, g.gpu_id, l.timed, l.small, l.small_ns,
  l.small * 1.0 / nullif(l.timed, 0) AS small_share,
  coalesce(i.ns, 0) AS launch_idle_ns,              -- idle by causes of launching
  min(coalesce(i.ns, 0), l.small * (g.latency_ns + g.kernel_gap_ns)) AS gain_bound_ns
FROM gpu g
JOIN (
  SELECT gpu_id, sum(timed) AS timed, sum(small) AS small, sum(small_ns) AS small_ns
  FROM launch_stat GROUP BY gpu_id) l ON l.gpu_id = g.gpu_id
LEFT JOIN (
  SELECT gpu_id, sum(ns) AS ns FROM gap
  WHERE cause IN ('launch_call', 'launch_bound', 'launching_other_gpu', 'launch_latency', 'kernel_gap')
  GROUP BY gpu_id) i ON i.gpu_id = g.gpu_id
LEFT JOIN rank r ON r.rank_id = g.rank_id;

-- Kernels whose mean is below twice the launch latency, without those of collectives.
CREATE VIEW v_kernel_small AS
SELECT k.rank, k.gpu, k.gpu_id, k.name, k.executed, k.timed, k.mean_ns, k.sum_ns,
  k.timed * 1.0 / (SELECT sum(o.timed) FROM kernel o WHERE o.gpu_id = k.gpu_id) AS share_of_timed,
  k.timed * (g.latency_ns + g.kernel_gap_ns) AS gain_bound_ns  -- of all of them; see v_small_kernels
FROM v_kernel k JOIN gpu g ON g.gpu_id = k.gpu_id
WHERE k.mean_ns < 2 * g.latency_ns AND coalesce(k.comm_source, 'none') = 'none';
