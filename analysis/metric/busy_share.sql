-- of: gpu, unit: share, kind: measured, version: 1
-- words: at least one operation ran, in whole timed steps
-- absent: no operation has device times
SELECT t.gpu_id, CAST(t.busy_ns AS DOUBLE) / t.window_ns AS value
FROM v_gpu_total t WHERE t.window_ns > 0;

-- The bounds of operations that did not wait in a queue. Where little was timed the likely range hangs on how
-- windows differ, too: only the report knows it.
INSERT INTO metric_interval
SELECT 'busy_share', 'gpu', t.gpu_id, CAST(t.busy_low_ns AS DOUBLE) / t.window_ns,
  CAST(t.busy_high_ns AS DOUBLE) / t.window_ns,
  CASE WHEN u.timed_share >= 0.98 THEN CAST(t.busy_likely_low_ns AS DOUBLE) / t.window_ns END,
  CASE WHEN u.timed_share >= 0.98 THEN CAST(t.busy_likely_high_ns AS DOUBLE) / t.window_ns END
FROM v_gpu_total t JOIN gpu u ON u.gpu_id = t.gpu_id WHERE t.window_ns > 0;
