-- of: steps, unit: steps, kind: measured, version: 1
-- words: steps that count
-- absent: no steps found
WITH counted AS (
  SELECT r.rank_id, r.steps_why, nullif(count(c.step), 0) AS steps
  FROM rank r LEFT JOIN v_counted_step c ON c.rank_id = r.rank_id AND c.is_slice = 0
  GROUP BY r.rank_id, r.steps_why
)
SELECT 'rank' AS scope, c.rank_id AS id, c.steps AS value, c.steps_why AS why FROM counted c
UNION ALL
SELECT 'run', 0, max(c.steps), max(c.steps_why) FROM counted c;
