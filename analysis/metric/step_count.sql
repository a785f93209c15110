-- of: steps, unit: steps, kind: measured, version: 1
-- words: steps that count
-- absent: no steps found
WITH counted AS (
  SELECT r.rank_id, r.steps_why, c.steps
  FROM rank r LEFT JOIN (
    SELECT s.rank_id, count(*) AS steps FROM v_counted_step s WHERE s.is_slice = 0 GROUP BY s.rank_id
  ) c ON c.rank_id = r.rank_id
)
SELECT 'rank' AS scope, c.rank_id AS id, c.steps AS value, c.steps_why AS why FROM counted c
UNION ALL
SELECT 'run', 0, max(c.steps), max(c.steps_why) FROM counted c;
