-- of: gpu, unit: ns, kind: measured, version: 1
-- words: from call to start on an empty GPU, busiest stream
-- absent: no such operation has device times
SELECT b.gpu_id, b.latency_p50_ns AS value FROM v_busiest_stream b;
