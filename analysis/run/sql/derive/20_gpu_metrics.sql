-- Metrics of each GPU, from whole timed steps (v_gpu_total).
INSERT INTO metric
WITH total AS (
  SELECT t.gpu_id, CAST(t.window_ns AS DOUBLE) AS window_ns, t.busy_ns, t.idle_ns, t.waiting_for_peer_ns,
    t.productive_ns, t.compute_ns, t.copy_ns, t.comm_ns, t.exposed_comm_ns
  FROM v_gpu_total t WHERE t.window_ns > 0
), grouped AS (
  SELECT i.gpu_id, i.cause_group, sum(i.ns) AS ns FROM v_gpu_idle i GROUP BY i.gpu_id, i.cause_group
), figure AS (
  SELECT 'busy_share' AS name, t.gpu_id, CAST(t.busy_ns AS DOUBLE) / t.window_ns AS value FROM total t
  UNION ALL
  SELECT 'productive_share', t.gpu_id, CAST(t.productive_ns AS DOUBLE) / t.window_ns FROM total t
  UNION ALL
  SELECT 'waiting_for_peer_share', t.gpu_id, CAST(t.waiting_for_peer_ns AS DOUBLE) / t.window_ns FROM total t
  UNION ALL
  SELECT 'idle_share', t.gpu_id, CAST(t.idle_ns AS DOUBLE) / t.window_ns FROM total t
  UNION ALL
  SELECT 'compute_share', t.gpu_id, CAST(t.compute_ns AS DOUBLE) / t.window_ns FROM total t
  UNION ALL
  SELECT 'copy_share', t.gpu_id, CAST(t.copy_ns AS DOUBLE) / t.window_ns FROM total t
  UNION ALL
  SELECT 'comm_share', t.gpu_id, CAST(t.comm_ns AS DOUBLE) / t.window_ns FROM total t
  UNION ALL
  SELECT 'exposed_comm_share', t.gpu_id, CAST(t.exposed_comm_ns AS DOUBLE) / t.window_ns FROM total t
  UNION ALL
  SELECT 'overlap_share', t.gpu_id, 1 - CAST(t.exposed_comm_ns AS DOUBLE) / t.comm_ns FROM total t
  WHERE t.comm_ns > 0
  UNION ALL
  SELECT d.name, t.gpu_id, CAST(coalesce(g.ns, 0) AS DOUBLE) / t.window_ns
  FROM total t
    JOIN (SELECT DISTINCT c.cause_group, 'idle_' || c.cause_group || '_share' AS name FROM idle_cause c) d
      ON 1 = 1
    LEFT JOIN grouped g ON g.gpu_id = t.gpu_id AND g.cause_group = d.cause_group
  UNION ALL
  SELECT 'run_busy_share', u.gpu_id, u.busy_share FROM gpu u WHERE u.busy_share IS NOT NULL
)
SELECT d.name, 'gpu', u.gpu_id, f.value, d.unit, d.kind, d.version, u.level, u.coverage, u.timed_share,
  r.clock_error_ns,
  CASE WHEN f.value IS NOT NULL THEN NULL
       WHEN u.why IS NOT NULL THEN u.why
       WHEN d.name = 'overlap_share' THEN 'no communication ran in timed steps'
       ELSE 'no operation has device times' END
FROM gpu u JOIN rank r ON r.rank_id = u.rank_id
  JOIN metric_definition d
    ON d.formula_section IN ('1', '2') OR d.name IN ('exposed_comm_share', 'overlap_share')
  LEFT JOIN figure f ON f.name = d.name AND f.gpu_id = u.gpu_id;
