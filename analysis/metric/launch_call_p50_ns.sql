-- of: gpu, unit: ns, kind: measured, version: 1
-- words: inside a launch call, busiest stream
-- absent: no such operation has device times
SELECT b.gpu_id, b.api_p50_ns AS value FROM v_busiest_stream b;
