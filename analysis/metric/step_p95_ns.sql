-- of: steps, unit: ns, kind: measured, version: 1
-- words: from one step to the next, 95 of 100 take no longer
-- absent: no steps found
SELECT 'rank' AS scope, r.rank_id AS id, q.p95_ns AS value, r.steps_why AS why
FROM rank r LEFT JOIN v_step_length q ON q.rank_id = r.rank_id
UNION ALL
SELECT 'run', 0, q.p95_ns, (SELECT max(r.steps_why) FROM rank r)
FROM v_step_length q WHERE q.rank_id IS NULL;
