-- of: steps, unit: 1/s, kind: measured, version: 1
-- words: samples of all ranks in a step, over the median step
-- absent: steps or samples per step are not known
WITH a_step AS (
  SELECT c.step, sum(c.samples) AS samples FROM v_counted_step c
  WHERE c.is_slice = 0 AND c.samples IS NOT NULL GROUP BY c.step
), samples AS (
  SELECT coalesce((SELECT CAST(value AS DOUBLE) FROM run WHERE key = 'samples_per_step'),
                  (SELECT CAST(sum(a.samples) AS DOUBLE) / CAST(count(*) AS DOUBLE) FROM a_step a)) AS of_step
), middle AS (
  SELECT min(CASE WHEN p.run_place * 100 >= p.run_steps * 50 THEN p.dur_ns END) AS dur_ns FROM v_step_place p
)
SELECT 'run' AS scope, 0 AS id, s.of_step * 1000000000 / CAST(m.dur_ns AS DOUBLE) AS value, NULL AS why
FROM samples s JOIN middle m ON 1 = 1;
