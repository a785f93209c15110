-- of: ranks, unit: ns, kind: measured, version: 1
-- words: from the first launch of a step on any GPU to that on the last
-- absent: fewer than two GPUs, or no steps that all have
SELECT min(CASE WHEN o.place * 100 >= o.steps * 50 THEN o.value END) AS value, NULL AS why
FROM (
  SELECT a.stagger_ns AS value, row_number() OVER (ORDER BY a.stagger_ns) AS place, count(*) OVER () AS steps
  FROM across a WHERE a.stagger_ns IS NOT NULL
) o;
