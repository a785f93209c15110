-- How many GPU-hours were idle, and what did they cost?
-- For a run that was analysed with --price, else cost is NULL. Of the whole run, start-up and all; estimated
-- where only windows were timed. idle_low and idle_high hold the truth in 95 of 100 cases; for certain where
-- there is no estimate.
SELECT r.rank, g.uuid AS gpu,
  round(g.run_ns / 3.6e12, 6) AS gpu_hours,
  round((1 - g.busy_share) * g.run_ns / 3.6e12, 6) AS idle_gpu_hours,
  round((1 - coalesce(g.busy_share_likely_high, g.busy_share_high)) * g.run_ns / 3.6e12, 6) AS idle_low,
  round((1 - coalesce(g.busy_share_likely_low, g.busy_share_low)) * g.run_ns / 3.6e12, 6) AS idle_high,
  round((1 - g.busy_share) * g.run_ns / 3.6e12 * (SELECT value FROM run WHERE key = 'price_per_gpu_hour'), 6)
    AS idle_cost,
  g.why
FROM gpu g
JOIN rank r ON r.rank_id = g.rank_id
ORDER BY r.rank, g.device_id;
