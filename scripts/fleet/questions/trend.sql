-- Jobs of one model on one kind of machine, by day: the mean of the runs' median steps, how busy their GPUs
-- were in timed steps, and the hours. A day whose runs have no steps has no step_ns.
WITH shares AS (
  SELECT g.run, sum(CAST(t.busy_ns AS DOUBLE)) AS busy_ns, sum(CAST(t.window_ns AS DOUBLE)) AS window_ns,
    sum(CAST(g.run_ns AS DOUBLE)) / 3600000000000.0 AS gpu_hours
  FROM gpu g LEFT JOIN v_gpu_total t ON t.gpu_id = g.gpu_id
  WHERE g.unused IS NULL GROUP BY g.run
), steps AS (
  SELECT m.run, m.value AS step_ns FROM metric m WHERE m.name = 'step_median_ns' AND m.scope = 'run'
)
SELECT r.model, r.machine, r.day, count(*) AS runs, CAST(sum(r.gpus) AS BIGINT) AS gpus,
  sum(s.gpu_hours) AS gpu_hours, avg(p.step_ns) AS step_ns,
  sum(s.busy_ns) / CAST(nullif(sum(s.window_ns), 0) AS DOUBLE) AS busy_share,
  CAST(sum(r.ranks_seen) AS BIGINT) AS ranks_seen, CAST(sum(r.ranks_expected) AS BIGINT) AS ranks_expected
FROM fleet_run r JOIN shares s ON s.run = r.run LEFT JOIN steps p ON p.run = r.run
GROUP BY r.model, r.machine, r.day ORDER BY r.model, r.machine, r.day
