-- Which kernels took most of the time?
-- For a run, all its GPUs together. Durations are of what was timed, summed; `executed` counts all of the
-- run, in graphs, too. NULL: none was timed, as those in graphs are not one by one.
SELECT name,
  sum(executed) AS executed,
  round(sum(sum_ns) / 1e6, 3) AS sum_ms,
  CASE WHEN sum(timed) > 0 THEN round(sum(sum_ns) / 1e3 / sum(timed), 2) END AS mean_us,
  round(sum(sum_ns) * 1.0 / nullif((SELECT sum(sum_ns) FROM kernel), 0), 4) AS share,
  max(family) AS family, max(tensor_core) AS tensor_core
FROM v_kernel
GROUP BY name
ORDER BY sum(sum_ns) DESC, name
LIMIT 15;
