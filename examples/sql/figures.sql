-- What figures are there, between which bounds do they lie, and how are they known?
-- For a run. kind: measured, bounded, estimated, inferred or predicted. A figure without a value says why.
SELECT m.scope, m.id, m.name, m.value, i.likely_low, i.likely_high, i.low, i.high, m.unit, m.kind,
  d.words AS meaning, m.why
FROM metric m
JOIN metric_definition d ON d.name = m.name AND d.version = m.definition
LEFT JOIN metric_interval i ON i.name = m.name AND i.scope = m.scope AND i.id = m.id
ORDER BY m.scope DESC, m.id, m.name;
