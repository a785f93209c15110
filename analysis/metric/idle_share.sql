-- of: gpu, unit: share, kind: measured, version: 1
-- words: nothing ran
-- absent: no operation has device times
SELECT t.gpu_id, CAST(t.idle_ns AS DOUBLE) / t.window_ns AS value
FROM v_gpu_total t WHERE t.window_ns > 0;

-- What is left beside the range of busy_share.
INSERT INTO metric_interval
SELECT 'idle_share', 'gpu', t.gpu_id, 1 - CAST(t.busy_high_ns AS DOUBLE) / t.window_ns,
  1 - CAST(t.busy_low_ns AS DOUBLE) / t.window_ns,
  CASE WHEN u.timed_share >= 0.98 THEN 1 - CAST(t.busy_likely_high_ns AS DOUBLE) / t.window_ns END,
  CASE WHEN u.timed_share >= 0.98 THEN 1 - CAST(t.busy_likely_low_ns AS DOUBLE) / t.window_ns END
FROM v_gpu_total t JOIN gpu u ON u.gpu_id = t.gpu_id WHERE t.window_ns > 0;
