-- of: steps, unit: ns, kind: measured, version: 1
-- words: of a server, from one token of a sequence to its next, 95 of 100 take no longer
-- absent: not known to serve, or no token followed another
WITH place AS (SELECT p.* FROM v_token_place p)
SELECT 'rank' AS scope, r.rank_id AS id,
  min(CASE WHEN p.place * 100 >= p.gaps * 95 THEN p.gap_ns END) AS value, NULL AS why
FROM rank r LEFT JOIN place p ON p.rank_id = r.rank_id GROUP BY r.rank_id
UNION ALL
SELECT 'run', 0, min(CASE WHEN p.run_place * 100 >= p.run_gaps * 95 THEN p.gap_ns END), NULL FROM place p;
