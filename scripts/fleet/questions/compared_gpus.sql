-- Of how many GPUs worst_gpus could say anything, each counted once in each run: those with timed steps,
-- among four or more of the run that ran as many different kernels. One row.
WITH kinds AS (
  SELECT k.gpu_id, count(*) AS kernels FROM kernel k WHERE k.timed > 0 GROUP BY k.gpu_id
), alike AS (
  SELECT g.run, k.kernels, sum(CASE WHEN t.basis = 'steps' THEN 1 ELSE 0 END) AS gpus
  FROM v_gpu_total t JOIN gpu g ON g.gpu_id = t.gpu_id JOIN kinds k ON k.gpu_id = g.gpu_id
  GROUP BY g.run, k.kernels
)
SELECT (SELECT CAST(coalesce(sum(a.gpus), 0) AS BIGINT) FROM alike a WHERE a.gpus >= 4) AS compared,
  (SELECT count(*) FROM gpu g WHERE g.unused IS NULL) AS gpus,
  CAST(sum(r.ranks_seen) AS BIGINT) AS ranks_seen,
  CASE WHEN count(r.ranks_expected) = count(*) THEN CAST(sum(r.ranks_expected) AS BIGINT) END
    AS ranks_expected
FROM fleet_run r
