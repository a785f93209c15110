-- of: steps, unit: 1/s, kind: measured, version: 1
-- words: of a server, iterations of one rank in a second
-- absent: not known to serve
WITH spent AS (
  SELECT i.rank_id, CAST(count(*) AS DOUBLE) AS iterations, sum(i.dur_ns) AS ns FROM v_iteration i
  GROUP BY i.rank_id
)
SELECT 'rank' AS scope, r.rank_id AS id,
  s.iterations * 1000000000 / CAST(nullif(s.ns, 0) AS DOUBLE) AS value, NULL AS why
FROM rank r LEFT JOIN spent s ON s.rank_id = r.rank_id
UNION ALL
SELECT 'run', 0, sum(s.iterations) * 1000000000 / CAST(nullif(sum(s.ns), 0) AS DOUBLE), NULL FROM spent s;
