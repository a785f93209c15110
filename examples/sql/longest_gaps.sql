-- When was the GPU idle longest, and what ran before and after?
-- For a trace. As it ran, with our events in it. Where device times are of windows, these are their gaps.
-- launched_us_before: from the call of what ran next to its start; much less than the gap: the host was late.
WITH
  ran AS (
    SELECT device_id, coalesce(name, kind) AS name, enter_ns, device_start_ns, device_end_ns,
      max(device_end_ns) OVER (PARTITION BY device_id ORDER BY device_start_ns, device_end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns
    FROM v_operation WHERE device_start_ns IS NOT NULL),
  numbered AS (
    SELECT *, sum(CASE WHEN device_start_ns > free_ns THEN 1 ELSE 0 END) OVER (PARTITION BY device_id
        ORDER BY device_start_ns, device_end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS busy_span
    FROM ran),
  span AS (
    SELECT DISTINCT device_id, busy_span,
      min(device_start_ns) OVER one AS start_ns, max(device_end_ns) OVER one AS end_ns,
      first_value(name) OVER (PARTITION BY device_id, busy_span ORDER BY device_start_ns, enter_ns)
        AS first_name,
      first_value(enter_ns) OVER (PARTITION BY device_id, busy_span ORDER BY device_start_ns, enter_ns)
        AS first_enter_ns,
      first_value(name) OVER (PARTITION BY device_id, busy_span ORDER BY device_end_ns DESC, enter_ns DESC)
        AS last_name
    FROM numbered WINDOW one AS (PARTITION BY device_id, busy_span)),
  gap AS (
    SELECT device_id, lag(end_ns) OVER (PARTITION BY device_id ORDER BY busy_span) AS from_ns,
      start_ns AS until_ns, lag(last_name) OVER (PARTITION BY device_id ORDER BY busy_span) AS after_what,
      first_name AS before_what, first_enter_ns
    FROM span)
SELECT g.device_id,
  round((g.from_ns - (SELECT value FROM meta WHERE key = 'started_mono_ns')) / 1e9, 6) AS at_s,
  round((g.until_ns - g.from_ns) / 1e3, 2) AS idle_us,
  g.after_what, g.before_what,
  round((g.until_ns - g.first_enter_ns) / 1e3, 2) AS launched_us_before
FROM gap g
JOIN "window" w ON w.device_id = g.device_id AND g.from_ns >= w.enter_ns
  AND g.until_ns <= w.enter_ns + w.dur_ns
ORDER BY g.until_ns - g.from_ns DESC
LIMIT 10;
