-- of: gpu, unit: ns, kind: measured, version: 1
-- words: submitted work that was left at a launch, least of 20, busiest stream
-- absent: no such operation has device times
SELECT b.gpu_id, b.runway_p5_ns AS value FROM v_busiest_stream b;
