-- Which rank was late for part of the run, and when?
-- For a run. Windows of 50 steps. saved: what the window would have been shorter by, were that rank as quick
-- as the next slowest; p_value: how likely it is that chance did that. No rows: none was.
SELECT w.comm, w.first_step, w.last_step, r.rank, w.comm_rank,
  round(w.saved_ns / 1e6, 3) AS saved_ms,
  round(w.saved_ns / 1e6 / (w.last_step - w.first_step + 1), 4) AS saved_ms_per_step,
  w.p_value
FROM straggler_window w
LEFT JOIN skew_rank s ON s.comm = w.comm AND s.comm_rank = w.comm_rank
LEFT JOIN rank r ON r.rank_id = s.rank_id
ORDER BY w.comm, w.first_step;
