-- What views and joins over all steps say, kept: reports ask for it again and again.
INSERT INTO step_work
SELECT u.gpu_id, s.whole_steps / nullif(s.recorded_steps, 0), c.coverage
FROM gpu u LEFT JOIN v_run_steps s ON s.rank_id = u.rank_id
LEFT JOIN (
  SELECT g.gpu_id, sum(g.timed) * 1.0 / nullif(sum(g.operations), 0) AS coverage
  FROM gpu_step g JOIN gpu o ON o.gpu_id = g.gpu_id
    JOIN v_counted_step t ON t.rank_id = o.rank_id AND t.step = g.step
  WHERE t.is_slice = 0 AND g.gpu_id NOT IN (SELECT gpu_id FROM unlike_steps)
  GROUP BY g.gpu_id) c ON c.gpu_id = u.gpu_id;
