-- How long are launch calls, and how long after them do kernels start?
-- For a trace. The smallest value that so many do not exceed. start: from the call's begin to the start on
-- the GPU, so it counts what was in the queue; of those with device times.
WITH
  value AS (
    SELECT 'in the call' AS what, dur_ns AS ns FROM launch WHERE flags & 7 = 0 AND dur_ns IS NOT NULL
    UNION ALL
    SELECT 'until the start', start_offset_ns FROM launch_device WHERE start_offset_ns IS NOT NULL),
  ranked AS (
    SELECT what, ns, row_number() OVER (PARTITION BY what ORDER BY ns) AS place,
      count(*) OVER (PARTITION BY what) AS of_all
    FROM value)
SELECT what, max(of_all) AS launches,
  min(CASE WHEN place * 2 >= of_all THEN ns END) AS p50_ns,
  min(CASE WHEN place * 20 >= of_all * 19 THEN ns END) AS p95_ns,
  min(CASE WHEN place * 100 >= of_all * 99 THEN ns END) AS p99_ns,
  max(ns) AS max_ns
FROM ranked
GROUP BY what;
