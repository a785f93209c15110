-- of: gpu, unit: share, kind: inferred, version: 2
-- words: of eligible kernel time in steps, on tensor cores by name
-- absent: no such operation has device times
SELECT w.gpu_id,
  CAST(sum(CASE WHEN k.tensor_core = 'yes' THEN w.timed_ns ELSE 0 END) AS DOUBLE)
    / sum(w.timed_ns) AS value
FROM v_kernel_work w JOIN kernel k ON k.gpu_id = w.gpu_id AND k.name = w.name
WHERE k.eligible = 1 GROUP BY w.gpu_id HAVING sum(w.timed_ns) > 0;
