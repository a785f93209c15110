-- Metrics of launches and kernels, of each GPU. Percentiles do not add up, so they are those of the stream
-- with the most launches.
INSERT INTO metric
WITH busiest AS (
  SELECT l.gpu_id, l.api_p50_ns, l.latency_p50_ns, l.latency_p95_ns, l.runway_p5_ns,
    row_number() OVER (PARTITION BY l.gpu_id ORDER BY l.count DESC, l.stream_id) AS place
  FROM launch_stat l
), launches AS (
  SELECT l.gpu_id, sum(l.small) AS small, sum(l.timed) AS timed FROM launch_stat l GROUP BY l.gpu_id
), kernels AS (
  SELECT k.gpu_id, sum(k.sum_ns) AS sum_ns,
    sum(CASE WHEN k.eligible = 1 THEN k.sum_ns ELSE 0 END) AS eligible_ns,
    sum(CASE WHEN k.eligible = 1 AND k.tensor_core = 'yes' THEN k.sum_ns ELSE 0 END) AS tensor_ns,
    sum(CASE WHEN k.eligible = 1 AND k.tensor_core = 'unknown' THEN k.sum_ns ELSE 0 END) AS unknown_ns
  FROM kernel k GROUP BY k.gpu_id
), figure AS (
  SELECT 'launch_call_p50_ns' AS name, b.gpu_id, CAST(b.api_p50_ns AS DOUBLE) AS value
  FROM busiest b WHERE b.place = 1
  UNION ALL
  SELECT 'launch_latency_p50_ns', b.gpu_id, b.latency_p50_ns FROM busiest b WHERE b.place = 1
  UNION ALL
  SELECT 'launch_latency_p95_ns', b.gpu_id, b.latency_p95_ns FROM busiest b WHERE b.place = 1
  UNION ALL
  SELECT 'runway_p5_ns', b.gpu_id, b.runway_p5_ns FROM busiest b WHERE b.place = 1
  UNION ALL
  SELECT 'small_kernel_share', l.gpu_id, CAST(l.small AS DOUBLE) / CAST(l.timed AS DOUBLE)
  FROM launches l WHERE l.timed > 0
  UNION ALL
  SELECT 'eligible_share', k.gpu_id, CAST(k.eligible_ns AS DOUBLE) / CAST(k.sum_ns AS DOUBLE)
  FROM kernels k WHERE k.sum_ns > 0
  UNION ALL
  SELECT 'tensor_core_share', k.gpu_id, CAST(k.tensor_ns AS DOUBLE) / CAST(k.eligible_ns AS DOUBLE)
  FROM kernels k WHERE k.eligible_ns > 0
  UNION ALL
  SELECT 'tensor_core_unknown_share', k.gpu_id, CAST(k.unknown_ns AS DOUBLE) / CAST(k.eligible_ns AS DOUBLE)
  FROM kernels k WHERE k.eligible_ns > 0
)
SELECT d.name, 'gpu', u.gpu_id, f.value, d.unit, d.kind, d.version, u.level, u.coverage, u.timed_share,
  r.clock_error_ns,
  CASE WHEN f.value IS NOT NULL THEN NULL
       WHEN u.why IS NOT NULL THEN u.why
       ELSE 'no such operation has device times' END
FROM gpu u JOIN rank r ON r.rank_id = u.rank_id
  JOIN metric_definition d ON d.formula_section IN ('4', 'kernels')
  LEFT JOIN figure f ON f.name = d.name AND f.gpu_id = u.gpu_id;
