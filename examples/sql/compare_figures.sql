-- What is different in this run from another one?
-- For two runs: the other one is attached as `base` first (README.md). Figures of the whole run that differ,
-- the largest change first.
SELECT n.name, d.words AS meaning, n.unit,
  b.value AS base, n.value AS new,
  round((n.value - b.value) / nullif(abs(b.value), 0), 4) AS change
FROM main.metric n
JOIN base.metric b ON b.name = n.name AND b.scope = n.scope AND b.id = n.id AND b.definition = n.definition
JOIN main.metric_definition d ON d.name = n.name
WHERE n.scope = 'run' AND n.value IS NOT b.value
ORDER BY abs((n.value - b.value) / nullif(abs(b.value), 0)) DESC, n.name;
