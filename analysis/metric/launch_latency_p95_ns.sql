-- of: gpu, unit: ns, kind: measured, version: 1
-- words: the same, 95 of 100 take no longer
-- absent: no such operation has device times
SELECT b.gpu_id, b.latency_p95_ns AS value FROM v_busiest_stream b;
