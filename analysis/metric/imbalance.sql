-- of: ranks, unit: ratio, kind: measured, version: 1
-- words: the most loaded GPU over the mean, less 1
-- absent: fewer than two GPUs, or no steps that all have
SELECT min(CASE WHEN o.place * 100 >= o.steps * 50 THEN o.value END) AS value, NULL AS why
FROM (
  SELECT a.imbalance AS value, row_number() OVER (ORDER BY a.imbalance) AS place, count(*) OVER () AS steps
  FROM across a WHERE a.imbalance IS NOT NULL
) o;
