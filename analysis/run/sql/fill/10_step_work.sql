-- What views and joins over all steps say, kept: reports ask for it again and again.
INSERT INTO step_work
SELECT u.gpu_id, s.whole_steps / nullif(s.recorded_steps, 0),
  (SELECT sum(g.timed) * 1.0 / nullif(sum(g.operations), 0)
   FROM gpu_step g JOIN v_counted_step t ON t.step = g.step
   WHERE g.gpu_id = u.gpu_id AND t.rank_id = u.rank_id AND t.is_slice = 0
     AND u.gpu_id NOT IN (SELECT gpu_id FROM unlike_steps)) AS coverage
FROM gpu u LEFT JOIN v_run_steps s ON s.rank_id = u.rank_id;

INSERT INTO step_sum SELECT rank_id, steps, dur_ns FROM v_step_sum;
