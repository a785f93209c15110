-- Of metrics that are an interval: what they lie between. The run's own share has the range of its windows;
-- those of whole steps have the bounds of operations that did not wait in a queue.
INSERT INTO metric_interval
WITH total AS (
  SELECT c.gpu_id, CAST(sum(c.window_ns) AS DOUBLE) AS window_ns, sum(c.busy_ns) AS busy_ns,
    sum(CASE WHEN c.busy_low_ns < c.busy_ns THEN c.busy_low_ns ELSE c.busy_ns END) AS low_ns,
    sum(CASE WHEN c.busy_high_ns > c.busy_ns THEN c.busy_high_ns ELSE c.busy_ns END) AS high_ns
  FROM v_gpu_counted c GROUP BY c.gpu_id
)
SELECT 'busy_share', 'gpu', t.gpu_id, CAST(t.low_ns AS DOUBLE) / t.window_ns,
  CAST(t.high_ns AS DOUBLE) / t.window_ns
FROM total t WHERE t.window_ns > 0
UNION ALL
SELECT 'idle_share', 'gpu', t.gpu_id, 1 - CAST(t.high_ns AS DOUBLE) / t.window_ns,
  1 - CAST(t.low_ns AS DOUBLE) / t.window_ns
FROM total t WHERE t.window_ns > 0
UNION ALL
SELECT 'run_busy_share', 'gpu', u.gpu_id, u.busy_share_low, u.busy_share_high
FROM gpu u WHERE u.busy_share_low IS NOT NULL AND u.busy_share_high IS NOT NULL;
