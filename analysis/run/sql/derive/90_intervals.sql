-- Of metrics that are an interval: what they lie between. The run's own share has the range of its windows;
-- those of whole steps have the bounds of operations that did not wait in a queue.
INSERT INTO metric_interval
WITH total AS (
  SELECT t.gpu_id, CAST(t.window_ns AS DOUBLE) AS window_ns, t.busy_low_ns AS low_ns,
    t.busy_high_ns AS high_ns,
    -- where little was timed the likely range hangs on how windows differ, too: only the report knows it
    CASE WHEN u.timed_share >= 0.98 THEN t.busy_likely_low_ns END AS likely_low_ns,
    CASE WHEN u.timed_share >= 0.98 THEN t.busy_likely_high_ns END AS likely_high_ns
  FROM v_gpu_total t JOIN gpu u ON u.gpu_id = t.gpu_id
)
SELECT 'busy_share', 'gpu', t.gpu_id, CAST(t.low_ns AS DOUBLE) / t.window_ns,
  CAST(t.high_ns AS DOUBLE) / t.window_ns, CAST(t.likely_low_ns AS DOUBLE) / t.window_ns,
  CAST(t.likely_high_ns AS DOUBLE) / t.window_ns
FROM total t WHERE t.window_ns > 0
UNION ALL
SELECT 'idle_share', 'gpu', t.gpu_id, 1 - CAST(t.high_ns AS DOUBLE) / t.window_ns,
  1 - CAST(t.low_ns AS DOUBLE) / t.window_ns, 1 - CAST(t.likely_high_ns AS DOUBLE) / t.window_ns,
  1 - CAST(t.likely_low_ns AS DOUBLE) / t.window_ns
FROM total t WHERE t.window_ns > 0
UNION ALL
SELECT 'run_busy_share', 'gpu', u.gpu_id, u.busy_share_low, u.busy_share_high, u.busy_share_likely_low,
  u.busy_share_likely_high
FROM gpu u WHERE u.busy_share_low IS NOT NULL AND u.busy_share_high IS NOT NULL;
