-- Metrics of steps: of each rank, and of all ranks' steps together as the run's. Percentile: the smallest
-- duration that so many of a hundred do not exceed.
INSERT INTO metric
WITH counted AS (
  SELECT c.rank_id, c.dur_ns,
    row_number() OVER (PARTITION BY c.rank_id ORDER BY c.dur_ns) AS place,
    count(*) OVER (PARTITION BY c.rank_id) AS steps,
    row_number() OVER (ORDER BY c.dur_ns) AS run_place,
    count(*) OVER () AS run_steps
  FROM v_counted_step c WHERE c.is_slice = 0
), of_rank AS (
  SELECT c.rank_id, count(*) AS steps,
    min(CASE WHEN c.place * 100 >= c.steps * 50 THEN c.dur_ns END) AS median_ns,
    min(CASE WHEN c.place * 100 >= c.steps * 95 THEN c.dur_ns END) AS p95_ns
  FROM counted c GROUP BY c.rank_id
), of_run AS (
  SELECT min(CASE WHEN c.run_place * 100 >= c.run_steps * 50 THEN c.dur_ns END) AS median_ns,
    min(CASE WHEN c.run_place * 100 >= c.run_steps * 95 THEN c.dur_ns END) AS p95_ns
  FROM counted c
), a_step AS (
  SELECT c.step, sum(c.samples) AS samples FROM v_counted_step c
  WHERE c.is_slice = 0 AND c.samples IS NOT NULL GROUP BY c.step
), samples AS (
  SELECT coalesce((SELECT CAST(value AS DOUBLE) FROM run WHERE key = 'samples_per_step'),
                  (SELECT CAST(sum(a.samples) AS DOUBLE) / CAST(count(*) AS DOUBLE) FROM a_step a)) AS of_step
), figure AS (
  SELECT 'step_median_ns' AS name, 'rank' AS scope, o.rank_id AS id, o.median_ns AS value FROM of_rank o
  UNION ALL
  SELECT 'step_p95_ns', 'rank', o.rank_id, o.p95_ns FROM of_rank o
  UNION ALL
  SELECT 'step_count', 'rank', o.rank_id, o.steps FROM of_rank o
  UNION ALL
  SELECT 'step_median_ns', 'run', 0, o.median_ns FROM of_run o
  UNION ALL
  SELECT 'step_p95_ns', 'run', 0, o.p95_ns FROM of_run o
  UNION ALL
  SELECT 'step_count', 'run', 0, max(o.steps) FROM of_rank o
  UNION ALL
  SELECT 'samples_per_s', 'run', 0, s.of_step * 1000000000 / CAST(o.median_ns AS DOUBLE)
  FROM samples s JOIN of_run o ON 1 = 1
), scoped AS (
  SELECT 'rank' AS scope, r.rank_id AS id, r.steps_why AS why FROM rank r
  UNION ALL
  SELECT 'run', 0, max(r.steps_why) FROM rank r
)
SELECT d.name, s.scope, s.id, CAST(f.value AS DOUBLE), d.unit, d.kind, d.version, 'host', NULL, NULL, NULL,
  CASE WHEN f.value IS NOT NULL THEN NULL
       WHEN d.name = 'samples_per_s' THEN 'steps or samples per step are not known'
       ELSE coalesce(s.why, 'no steps found') END
FROM scoped s
  JOIN metric_definition d ON d.formula_section = '3' AND (s.scope = 'run' OR d.name <> 'samples_per_s')
  LEFT JOIN figure f ON f.name = d.name AND f.scope = s.scope AND f.id = s.id;
