-- of: steps, unit: ns, kind: measured, version: 1
-- words: from one step to the next, in the middle
-- absent: no steps found
WITH place AS (SELECT p.* FROM v_step_place p)
SELECT 'rank' AS scope, r.rank_id AS id,
  min(CASE WHEN p.place * 100 >= p.steps * 50 THEN p.dur_ns END) AS value, r.steps_why AS why
FROM rank r LEFT JOIN place p ON p.rank_id = r.rank_id GROUP BY r.rank_id, r.steps_why
UNION ALL
SELECT 'run', 0, min(CASE WHEN p.run_place * 100 >= p.run_steps * 50 THEN p.dur_ns END),
  (SELECT max(r.steps_why) FROM rank r)
FROM place p;
