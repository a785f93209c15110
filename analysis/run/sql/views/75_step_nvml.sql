-- What NVML showed in slow steps and in the others. Slow ones took at least 1.1 times as long as the shortest
-- tenth of their rank: the median may itself be slow.
CREATE VIEW v_step_nvml AS
WITH ordered AS (
  SELECT rank_id, step, dur_ns, row_number() OVER (PARTITION BY rank_id ORDER BY dur_ns) AS place,
    count(*) OVER (PARTITION BY rank_id) AS n
  FROM v_counted_step WHERE is_slice = 0),
judged AS (
  SELECT o.rank_id, o.step, o.dur_ns * 10 >= m.dur_ns * 11 AS is_slow
  FROM ordered o JOIN ordered m ON m.rank_id = o.rank_id AND m.place = (m.n + 9) / 10)
SELECT s.gpu_id, j.is_slow, count(*) AS samples, count(DISTINCT s.step) AS steps, avg(s.sm_mhz) AS sm_mhz,
  avg(s.power_w) AS power_w, avg(s.temperature_c) AS temperature_c
FROM step_nvml s JOIN gpu g ON g.gpu_id = s.gpu_id JOIN judged j ON j.rank_id = g.rank_id AND j.step = s.step
GROUP BY s.gpu_id, j.is_slow;
