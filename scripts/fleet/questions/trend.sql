-- Jobs of one model on one kind of machine and of so many ranks, by day: the mean of the runs' median steps,
-- how busy their GPUs were as far as timed steps stand for them, and the hours. A day whose runs have no
-- steps has no step_ns. busy_share is of GPUs of which something is known; unknown_gpus: how many others
-- there were.
WITH shares AS (
  SELECT g.run, sum(CAST(g.run_ns AS DOUBLE)) / 3600000000000.0 AS gpu_hours,
    sum(CASE WHEN t.window_ns > 0 THEN CAST(g.run_ns AS DOUBLE) * t.busy_ns / CAST(t.window_ns AS DOUBLE) END)
      AS busy_ns,
    sum(CASE WHEN t.window_ns > 0 THEN CAST(g.run_ns AS DOUBLE) END) AS known_ns,
    sum(CASE WHEN t.window_ns > 0 THEN 0 ELSE 1 END) AS unknown_gpus
  FROM gpu g LEFT JOIN v_gpu_total t ON t.gpu_id = g.gpu_id
  WHERE g.unused IS NULL GROUP BY g.run
), steps AS (
  SELECT m.run, m.value AS step_ns FROM metric m WHERE m.name = 'step_median_ns' AND m.scope = 'run'
)
SELECT r.model, r.machine, coalesce(r.ranks_expected, r.ranks_seen) AS ranks, r.day, count(*) AS runs,
  CAST(sum(r.gpus) AS BIGINT) AS gpus, sum(s.gpu_hours) AS gpu_hours, avg(p.step_ns) AS step_ns,
  sum(s.busy_ns) / CAST(nullif(sum(s.known_ns), 0) AS DOUBLE) AS busy_share,
  CAST(sum(coalesce(s.unknown_gpus, 0)) AS BIGINT) AS unknown_gpus,
  CAST(sum(r.ranks_seen) AS BIGINT) AS ranks_seen,
  CASE WHEN count(r.ranks_expected) = count(*) THEN CAST(sum(r.ranks_expected) AS BIGINT) END
    AS ranks_expected
FROM fleet_run r LEFT JOIN shares s ON s.run = r.run LEFT JOIN steps p ON p.run = r.run
GROUP BY r.model, r.machine, coalesce(r.ranks_expected, r.ranks_seen), r.day
ORDER BY r.model, r.machine, ranks, r.day
