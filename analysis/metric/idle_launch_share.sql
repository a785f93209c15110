-- of: gpu, unit: share, kind: inferred, version: 1
-- words: idle for work that was being launched
-- absent: no operation has device times
SELECT t.gpu_id, CAST(coalesce(sum(i.ns), 0) AS DOUBLE) / t.window_ns AS value
FROM v_gpu_total t LEFT JOIN v_gpu_idle i ON i.gpu_id = t.gpu_id AND i.cause_group = 'launch'
WHERE t.window_ns > 0 GROUP BY t.gpu_id, t.window_ns;
