-- By the host's clock: a row for each of figure: scope (rank, run), id, value, why.
SELECT d.name, f.scope, f.id, CAST(f.value AS DOUBLE), d.unit, d.kind, d.version, 'host', NULL, NULL, NULL,
  CASE WHEN f.value IS NULL THEN coalesce(f.why, '@absent') END
FROM metric_definition d JOIN figure f ON d.name = '@name';
