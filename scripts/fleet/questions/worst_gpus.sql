-- GPUs that are slow again and again: own time of a step is all of it but collectives beside which nothing
-- ran (the others wait in these for the slowest). A GPU is slow in a run if its own time is 3 % above the
-- run's median, among GPUs that ran as many different kernels (stages of a pipeline are not compared with
-- each other), of which there are four or more. Hosts and GPUs are told by name and UUID; a GPU of several
-- processes of a run is one. How many GPUs could be compared at all: compared_gpus.
--
--   rank 0  ██████cccccc        own 6, the median
--   rank 1  █████████ccc        own 9: slow, and the others wait
WITH kinds AS (
  SELECT k.gpu_id, count(*) AS kernels FROM kernel k WHERE k.timed > 0 GROUP BY k.gpu_id
), own AS (
  SELECT g.day, g.run, r.host, g.uuid, k.kernels,
    CAST(t.window_ns - t.exposed_comm_ns AS DOUBLE) / CAST(t.steps AS DOUBLE) AS own_ns
  FROM v_gpu_total t JOIN gpu g ON g.gpu_id = t.gpu_id JOIN rank r ON r.rank_id = g.rank_id
    JOIN kinds k ON k.gpu_id = g.gpu_id
  WHERE t.basis = 'steps'
), placed AS (
  SELECT o.day, o.run, o.host, o.uuid, o.own_ns, o.kernels,
    row_number() OVER (PARTITION BY o.run, o.kernels ORDER BY o.own_ns, o.host, o.uuid) AS place,
    count(*) OVER (PARTITION BY o.run, o.kernels) AS gpus
  FROM own o
), middle AS (
  SELECT p.run, p.kernels, min(CASE WHEN p.place * 2 >= p.gpus THEN p.own_ns END) AS own_ns
  FROM placed p WHERE p.gpus >= 4 GROUP BY p.run, p.kernels
), excess AS (
  SELECT p.day, p.run, p.host, p.uuid, p.own_ns / CAST(m.own_ns AS DOUBLE) - 1 AS excess
  FROM placed p JOIN middle m ON m.run = p.run AND m.kernels = p.kernels WHERE m.own_ns > 0
), of_runs AS (
  SELECT e.host, e.uuid, e.run, e.day, max(e.excess) AS excess FROM excess e
  GROUP BY e.host, e.uuid, e.run, e.day
)
SELECT e.host, e.uuid, count(*) AS runs, sum(CASE WHEN e.excess > 0.03 THEN 1 ELSE 0 END) AS slow_runs,
  avg(e.excess) AS mean_excess, max(e.excess) AS most_excess,
  min(CASE WHEN e.excess > 0.03 THEN e.day END) AS slow_since,
  max(CASE WHEN e.excess > 0.03 THEN e.day END) AS slow_until,
  CAST(sum(f.ranks_seen) AS BIGINT) AS ranks_seen,
  CASE WHEN count(f.ranks_expected) = count(*) THEN CAST(sum(f.ranks_expected) AS BIGINT) END
    AS ranks_expected
FROM of_runs e JOIN fleet_run f ON f.run = e.run GROUP BY e.host, e.uuid
HAVING sum(CASE WHEN e.excess > 0.03 THEN 1 ELSE 0 END) > 0
ORDER BY slow_runs DESC, mean_excess DESC, e.host, e.uuid
