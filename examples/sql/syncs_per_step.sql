-- How often does the host wait for the GPU in a step, and for how long?
-- For a run. after_small_d2h: directly behind a copy of at most 4 KiB to the host.
SELECT r.rank, s.api, s.target_kind AS waits_for,
  s.calls, s.in_steps AS calls_in_steps,
  round(s.in_steps * 1.0 / nullif(s.steps, 0), 2) AS per_step,
  round(s.sum_ns / 1e6, 3) AS sum_ms,
  round(s.max_ns / 1e6, 3) AS longest_ms,
  s.after_small_d2h
FROM sync_stat s
JOIN rank r ON r.rank_id = s.rank_id
ORDER BY r.rank, s.sum_ns DESC;
