-- Of all ranks together, one row. figure: value, why, in one row at most.
SELECT d.name, 'run', 0, CAST(f.value AS DOUBLE), d.unit, d.kind, d.version, NULL, NULL, NULL,
  (SELECT l.clock_error_ns FROM v_most_lost l), CASE WHEN f.value IS NULL THEN coalesce(f.why, '@absent') END
FROM metric_definition d LEFT JOIN figure f ON 1 = 1 WHERE d.name = '@name';
