-- What views and joins over all steps say, kept: reports ask for it again and again.
-- Few steps do not count, so these are looked up and taken off: to look up all that do takes thrice as long.
INSERT INTO step_work
WITH every AS (
  SELECT gpu_id, sum(operations) AS operations, sum(timed) AS timed FROM gpu_step WHERE step >= 0
  GROUP BY gpu_id),
others AS (
  SELECT g.gpu_id, sum(g.operations) AS operations, sum(g.timed) AS timed
  FROM step s CROSS JOIN gpu u ON u.rank_id = s.rank_id
    JOIN gpu_step g ON g.gpu_id = u.gpu_id AND g.step = s.step
  WHERE coalesce(s.warm_up, 0) <> 0 OR coalesce(s.left_out, 0) <> 0 GROUP BY g.gpu_id)
SELECT u.gpu_id, s.whole_steps / nullif(s.recorded_steps, 0),
  iif(coalesce(r.steps_source, 'none') = 'none' OR u.gpu_id IN (SELECT gpu_id FROM unlike_steps), NULL,
    1.0 * (e.timed - coalesce(o.timed, 0)) / nullif(e.operations - coalesce(o.operations, 0), 0)) AS coverage
FROM gpu u LEFT JOIN rank r ON r.rank_id = u.rank_id LEFT JOIN v_run_steps s ON s.rank_id = u.rank_id
  LEFT JOIN every e ON e.gpu_id = u.gpu_id LEFT JOIN others o ON o.gpu_id = u.gpu_id;

INSERT INTO step_sum SELECT rank_id, steps, dur_ns FROM v_step_sum;
