-- of: gpu, unit: share, kind: measured, version: 2
-- words: of kernel time in steps, grids with fewer blocks than the GPU has multiprocessors
-- absent: no kernel has device times, or a grid or how many multiprocessors the GPU has is not recorded
SELECT w.gpu_id,
  CAST(sum(CASE WHEN k.sum_ns > 0 THEN CAST(k.small_grid_ns AS DOUBLE) / k.sum_ns * w.timed_ns ELSE 0 END)
    AS DOUBLE) / sum(w.timed_ns) AS value
FROM v_kernel_work w JOIN kernel k ON k.gpu_id = w.gpu_id AND k.name = w.name
GROUP BY w.gpu_id
HAVING sum(w.timed_ns) > 0 AND sum(CASE WHEN k.timed > 0 AND k.small_grid_ns IS NULL THEN 1 ELSE 0 END) = 0;
