-- of: ranks, unit: ratio, kind: measured, version: 1
-- words: 0: GPUs work at the same time, 1: one after another
-- absent: fewer than two GPUs, or no steps that all have
SELECT min(CASE WHEN o.place * 100 >= o.steps * 50 THEN o.value END) AS value, NULL AS why
FROM (
  SELECT a.sequential_index AS value, row_number() OVER (ORDER BY a.sequential_index) AS place,
    count(*) OVER () AS steps
  FROM across a WHERE a.sequential_index IS NOT NULL
) o;
