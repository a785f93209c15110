-- of: gpu, unit: share, kind: inferred, version: 1
-- words: of eligible kernel time, on tensor cores by name
-- absent: no such operation has device times
SELECT k.gpu_id,
  CAST(sum(CASE WHEN k.tensor_core = 'yes' THEN k.sum_ns ELSE 0 END) AS DOUBLE) / sum(k.sum_ns) AS value
FROM kernel k WHERE k.eligible = 1 GROUP BY k.gpu_id HAVING sum(k.sum_ns) > 0;
