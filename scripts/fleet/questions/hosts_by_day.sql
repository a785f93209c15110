-- Of each host and day: how many GPUs of how many runs, their hours, and the share of these that was idle, as
-- far as timed steps stand for them. idle_share: NULL where nothing is known of one of its GPUs. Ranks are
-- those of these runs, on whatever host: of a rank that was not seen the host is not known.
WITH shared AS (
  SELECT p.host, p.day, CAST(sum(f.ranks_seen) AS BIGINT) AS ranks_seen,
    CASE WHEN count(f.ranks_expected) = count(*) THEN CAST(sum(f.ranks_expected) AS BIGINT) END
      AS ranks_expected
  FROM (SELECT DISTINCT r.host, r.day, r.run FROM rank r) p JOIN fleet_run f ON f.run = p.run
  GROUP BY p.host, p.day
)
SELECT r.host, g.day, count(DISTINCT g.run) AS runs, count(DISTINCT g.uuid) AS gpus,
  sum(CAST(g.run_ns AS DOUBLE)) / 3600000000000.0 AS gpu_hours,
  CASE WHEN sum(CASE WHEN t.window_ns > 0 THEN 0 ELSE 1 END) > 0 THEN NULL
       ELSE sum(CAST(g.run_ns AS DOUBLE) * t.idle_ns / CAST(t.window_ns AS DOUBLE))
            / CAST(sum(g.run_ns) AS DOUBLE) END AS idle_share,
  max(s.ranks_seen) AS ranks_seen, max(s.ranks_expected) AS ranks_expected
FROM gpu g JOIN rank r ON r.rank_id = g.rank_id LEFT JOIN v_gpu_total t ON t.gpu_id = g.gpu_id
  LEFT JOIN shared s ON s.host = r.host AND s.day = g.day
WHERE g.unused IS NULL
GROUP BY r.host, g.day ORDER BY r.host, g.day
