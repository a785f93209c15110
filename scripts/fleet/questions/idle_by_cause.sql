-- What idle GPUs cost, by cause: of each GPU its time in the run, as far as its timed steps stand for it.
-- Where nothing is known of a GPU its hours are in the row 'not known'. Collectives beside which nothing ran
-- are not idle, although ranks may only wait in them for others: the row 'in collectives' says how long they
-- took, and is_idle that this is of the busy time. money: NULL where no price was given for one of the runs.
WITH known AS (
  SELECT g.run, g.gpu_id, CAST(g.run_ns AS DOUBLE) / 3600000000000.0 AS hours, t.window_ns, t.exposed_comm_ns
  FROM gpu g LEFT JOIN v_gpu_total t ON t.gpu_id = g.gpu_id
  WHERE g.unused IS NULL
), spent AS (
  SELECT 1 AS is_idle, i.cause_group, i.cause, k.run, k.hours * i.ns / CAST(k.window_ns AS DOUBLE) AS hours
  FROM known k JOIN v_gpu_idle i ON i.gpu_id = k.gpu_id WHERE k.window_ns > 0
  UNION ALL
  SELECT NULL, 'not known', 'not known', k.run, k.hours FROM known k
  WHERE k.window_ns IS NULL OR k.window_ns = 0
  UNION ALL
  SELECT 0, 'in collectives', 'in collectives', k.run,
    k.hours * k.exposed_comm_ns / CAST(k.window_ns AS DOUBLE)
  FROM known k WHERE k.window_ns > 0 AND k.exposed_comm_ns > 0
), whole AS (
  SELECT sum(k.hours) AS hours FROM known k
), seen AS (
  SELECT CAST(sum(r.ranks_seen) AS BIGINT) AS ranks_seen,
    CASE WHEN count(r.ranks_expected) = count(*) THEN CAST(sum(r.ranks_expected) AS BIGINT) END
      AS ranks_expected
  FROM fleet_run r
)
SELECT s.cause_group, s.cause, s.is_idle, sum(s.hours) AS gpu_hours,
  sum(s.hours) / CAST(max(w.hours) AS DOUBLE) AS share,
  CASE WHEN count(r.price_per_gpu_hour) = count(*) THEN sum(s.hours * r.price_per_gpu_hour) END AS money,
  max(n.ranks_seen) AS ranks_seen, max(n.ranks_expected) AS ranks_expected
FROM spent s JOIN fleet_run r ON r.run = s.run JOIN whole w ON 1 = 1 JOIN seen n ON 1 = 1
GROUP BY s.cause_group, s.cause, s.is_idle ORDER BY coalesce(s.is_idle, 1) DESC, gpu_hours DESC, s.cause
