-- of: gpu, unit: share, kind: measured, version: 1
-- words: of kernel time, grids with fewer blocks than the GPU has multiprocessors
-- absent: no kernel has device times, or a grid or how many multiprocessors the GPU has is not recorded
SELECT k.gpu_id, CAST(sum(k.small_grid_ns) AS DOUBLE) / sum(k.sum_ns) AS value
FROM kernel k GROUP BY k.gpu_id
HAVING sum(k.sum_ns) > 0 AND sum(CASE WHEN k.timed > 0 AND k.small_grid_ns IS NULL THEN 1 ELSE 0 END) = 0;
