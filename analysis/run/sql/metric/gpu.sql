-- A row for each GPU. figure: gpu_id, value; a GPU without a value says why (the view `unknown`, too).
SELECT d.name, 'gpu', u.gpu_id, f.value, d.unit, d.kind, d.version, u.level, u.coverage, u.timed_share,
  r.clock_error_ns, CASE WHEN f.value IS NULL THEN coalesce(u.why, w.why, '@absent') END
FROM metric_definition d JOIN gpu u ON d.name = '@name' JOIN rank r ON r.rank_id = u.rank_id
  LEFT JOIN (SELECT NULL AS gpu_id, NULL AS why) w ON w.gpu_id = u.gpu_id
  LEFT JOIN figure f ON f.gpu_id = u.gpu_id;
