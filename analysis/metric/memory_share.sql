-- of: gpu, unit: share, kind: measured, version: 1
-- words: a copy or memset ran, and no kernel or collective
-- absent: no operation has device times
SELECT t.gpu_id, CAST(t.memory_ns AS DOUBLE) / t.window_ns AS value
FROM v_gpu_total t WHERE t.window_ns > 0;
