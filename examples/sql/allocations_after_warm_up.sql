-- Is memory still allocated after the warm-up?
-- For a trace with steps of its own (gpushim_step): after ten of them. Allocations and frees, which make the
-- host wait.
WITH warm AS (SELECT enter_ns FROM marker WHERE kind = 'step' ORDER BY enter_ns LIMIT 1 OFFSET 10)
SELECT m.api, m.kind, count(*) AS calls,
  sum(m.bytes) AS bytes,                             -- freed: negative
  round(sum(m.dur_ns) / 1e3, 2) AS in_calls_us,
  (SELECT count(*) FROM marker s WHERE s.kind = 'step' AND s.enter_ns <= min(m.enter_ns)) AS first_in_step,
  (SELECT count(*) FROM marker s WHERE s.kind = 'step' AND s.enter_ns <= max(m.enter_ns)) AS last_in_step
FROM v_memory m
WHERE m.enter_ns > (SELECT enter_ns FROM warm)
GROUP BY m.api, m.kind
ORDER BY sum(m.dur_ns) DESC;
