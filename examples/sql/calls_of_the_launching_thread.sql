-- What calls does the thread make that launches most?
-- For a trace. share: of the time from its first call to its last.
WITH
  busiest AS (SELECT thread_id FROM launch GROUP BY thread_id ORDER BY count(*) DESC LIMIT 1),
  its AS (SELECT * FROM v_all WHERE thread_id = (SELECT thread_id FROM busiest)),
  whole AS (SELECT max(enter_ns + coalesce(dur_ns, 0)) - min(enter_ns) AS ns FROM its)
SELECT a.name AS api, a.kind,
  sum(i.calls) AS calls,
  round(sum(i.dur_ns) / 1e6, 3) AS sum_ms,
  round(sum(i.dur_ns) / 1e3 / sum(i.calls), 2) AS mean_us,
  round(max(i.dur_ns) / 1e3, 2) AS longest_us,
  round(sum(i.dur_ns) * 1.0 / (SELECT ns FROM whole), 4) AS share
FROM its i
JOIN api a ON a.id = i.api_id
GROUP BY a.id
ORDER BY sum(i.dur_ns) DESC, a.name
LIMIT 20;
