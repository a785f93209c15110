-- of: gpu, unit: share, kind: measured, version: 2
-- words: a kernel that is no collective, or a graph, ran
-- absent: no operation has device times
SELECT t.gpu_id, CAST(t.productive_ns AS DOUBLE) / t.window_ns AS value
FROM v_gpu_total t WHERE t.window_ns > 0;
