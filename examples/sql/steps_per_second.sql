-- Did it get slower or faster in the course of the run?
-- For a run. The steps that count of each rank, in ten parts of as many steps each.
WITH part AS (
  SELECT rank_id, step, number, begin_ns, dur_ns,
    ntile(10) OVER (PARTITION BY rank_id ORDER BY step) AS tenth
  FROM v_counted_step)
SELECT r.rank, p.tenth,
  min(p.number) AS first_step, max(p.number) AS last_step,
  round((min(p.begin_ns) - r.first_ns) / 1e9, 3) AS from_s,
  round(count(*) * 1e9 / sum(p.dur_ns), 2) AS steps_per_s,
  round(max(p.dur_ns) / 1e6, 3) AS longest_ms
FROM part p
JOIN rank r ON r.rank_id = p.rank_id
GROUP BY r.rank_id, p.tenth
ORDER BY r.rank, p.tenth;
