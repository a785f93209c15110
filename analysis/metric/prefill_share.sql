-- of: steps, unit: share, kind: measured, version: 1
-- words: of a server, time of prefills in that of all iterations
-- absent: not known to serve
WITH spent AS (
  SELECT i.rank_id, sum(CASE WHEN i.kind = 'prefill' THEN i.dur_ns ELSE 0 END) AS prefill_ns,
    sum(i.dur_ns) AS ns
  FROM v_iteration i GROUP BY i.rank_id
)
SELECT 'rank' AS scope, r.rank_id AS id,
  CAST(s.prefill_ns AS DOUBLE) / CAST(nullif(s.ns, 0) AS DOUBLE) AS value, NULL AS why
FROM rank r LEFT JOIN spent s ON s.rank_id = r.rank_id
UNION ALL
SELECT 'run', 0, CAST(sum(s.prefill_ns) AS DOUBLE) / CAST(nullif(sum(s.ns), 0) AS DOUBLE), NULL FROM spent s;
