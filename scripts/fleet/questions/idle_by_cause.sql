-- What idle GPUs cost, by cause: of each GPU its time in the run, as far as its timed steps stand for it.
-- Where nothing is known of a GPU its hours are in the row 'not known'. money: NULL where no price was given.
WITH known AS (
  SELECT g.run, g.gpu_id, CAST(g.run_ns AS DOUBLE) / 3600000000000.0 AS hours, t.window_ns
  FROM gpu g LEFT JOIN v_gpu_total t ON t.gpu_id = g.gpu_id
  WHERE g.unused IS NULL
), spent AS (
  SELECT i.cause_group, i.cause, k.run, k.hours * i.ns / CAST(k.window_ns AS DOUBLE) AS hours
  FROM known k JOIN v_gpu_idle i ON i.gpu_id = k.gpu_id WHERE k.window_ns > 0
  UNION ALL
  SELECT 'not known', 'not known', k.run, k.hours FROM known k WHERE k.window_ns IS NULL OR k.window_ns = 0
), whole AS (
  SELECT sum(k.hours) AS hours FROM known k
), seen AS (
  SELECT CAST(sum(r.ranks_seen) AS BIGINT) AS ranks_seen,
    CAST(sum(r.ranks_expected) AS BIGINT) AS ranks_expected
  FROM fleet_run r
)
SELECT s.cause_group, s.cause, sum(s.hours) AS gpu_hours,
  sum(s.hours) / CAST(max(w.hours) AS DOUBLE) AS share,
  sum(s.hours * r.price_per_gpu_hour) AS money, max(n.ranks_seen) AS ranks_seen,
  max(n.ranks_expected) AS ranks_expected
FROM spent s JOIN fleet_run r ON r.run = s.run JOIN whole w ON 1 = 1 JOIN seen n ON 1 = 1
GROUP BY s.cause_group, s.cause ORDER BY gpu_hours DESC, s.cause
