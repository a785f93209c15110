-- of: gpu, unit: share, kind: measured, version: 1
-- words: of communication, while something else ran
-- absent: no communication ran in timed steps
SELECT t.gpu_id, 1 - CAST(t.exposed_comm_ns AS DOUBLE) / t.comm_ns AS value
FROM v_gpu_total t WHERE t.window_ns > 0 AND t.comm_ns > 0;
