-- of: gpu, unit: share, kind: measured, version: 2
-- words: a collective ran and did not wait, and no kernel ran
-- absent: no operation has device times
-- unknown: v_unknown_wait
SELECT t.gpu_id, CAST(t.exposed_transfer_ns AS DOUBLE) / t.window_ns AS value
FROM v_gpu_total t WHERE t.window_ns > 0;
