-- of: steps, unit: ns, kind: measured, version: 1
-- words: from one step to the next, 95 of 100 take no longer
-- absent: no steps found
WITH place AS (SELECT p.* FROM v_step_place p)
SELECT 'rank' AS scope, r.rank_id AS id, q.dur_ns AS value, r.steps_why AS why
FROM rank r LEFT JOIN (
  SELECT p.rank_id, min(CASE WHEN p.place * 100 >= p.steps * 95 THEN p.dur_ns END) AS dur_ns
  FROM place p GROUP BY p.rank_id
) q ON q.rank_id = r.rank_id
UNION ALL
SELECT 'run', 0, min(CASE WHEN p.run_place * 100 >= p.run_steps * 95 THEN p.dur_ns END),
  (SELECT max(r.steps_why) FROM rank r)
FROM place p;
