-- Of how many GPUs worst_gpus could say anything, each counted once in each run: those with timed steps,
-- among four or more of the run that ran as many different kernels. One row.
WITH kinds AS (
  SELECT k.gpu_id, count(*) AS kernels FROM kernel k WHERE k.timed > 0 GROUP BY k.gpu_id
), alike AS (
  SELECT g.run, k.kernels, count(*) AS gpus
  FROM v_gpu_total t JOIN gpu g ON g.gpu_id = t.gpu_id JOIN kinds k ON k.gpu_id = g.gpu_id
  WHERE t.basis = 'steps' GROUP BY g.run, k.kernels
), whole AS (
  SELECT count(*) AS gpus FROM gpu g WHERE g.unused IS NULL
), seen AS (
  SELECT CAST(sum(r.ranks_seen) AS BIGINT) AS ranks_seen,
    CASE WHEN count(r.ranks_expected) = count(*) THEN CAST(sum(r.ranks_expected) AS BIGINT) END
      AS ranks_expected
  FROM fleet_run r
)
SELECT CAST(coalesce(sum(CASE WHEN a.gpus >= 4 THEN a.gpus ELSE 0 END), 0) AS BIGINT) AS compared,
  max(w.gpus) AS gpus, max(n.ranks_seen) AS ranks_seen, max(n.ranks_expected) AS ranks_expected
FROM whole w JOIN seen n ON 1 = 1 LEFT JOIN alike a ON 1 = 1
