-- of: gpu, unit: share, kind: inferred, version: 1
-- words: of kernel time, matrix products and convolutions
-- absent: no such operation has device times
SELECT k.gpu_id,
  CAST(sum(CASE WHEN k.eligible = 1 THEN k.sum_ns ELSE 0 END) AS DOUBLE) / sum(k.sum_ns) AS value
FROM kernel k GROUP BY k.gpu_id HAVING sum(k.sum_ns) > 0;
