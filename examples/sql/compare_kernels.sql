-- Which kernels are new, gone, slower or faster than in another run?
-- For two runs: the other one is attached as `base` first (README.md). NULL: it did not run there, or was not
-- timed.
WITH
  both AS (
    SELECT name, 1 AS is_new, sum(launches + graph_launches) AS executed, sum(timed) AS timed,
      sum(sum_ns) AS sum_ns FROM main.kernel GROUP BY name
    UNION ALL
    SELECT name, 0, sum(launches + graph_launches), sum(timed), sum(sum_ns) FROM base.kernel GROUP BY name),
  side_by_side AS (
    SELECT name,
      max(CASE WHEN is_new = 0 THEN executed END) AS base_executed,
      max(CASE WHEN is_new = 1 THEN executed END) AS new_executed,
      max(CASE WHEN is_new = 0 AND timed > 0 THEN sum_ns / 1e3 / timed END) AS base_mean_us,
      max(CASE WHEN is_new = 1 AND timed > 0 THEN sum_ns / 1e3 / timed END) AS new_mean_us
    FROM both GROUP BY name)
SELECT name, base_executed, new_executed,
  round(base_mean_us, 2) AS base_mean_us, round(new_mean_us, 2) AS new_mean_us,
  round(new_mean_us / base_mean_us - 1, 4) AS change
FROM side_by_side
WHERE base_executed IS NOT new_executed OR abs(new_mean_us / base_mean_us - 1) > 0.01
ORDER BY abs(coalesce(new_mean_us * new_executed, 0) - coalesce(base_mean_us * base_executed, 0)) DESC, name
LIMIT 20;
