-- What views say, kept: reports ask for it again and again.
INSERT INTO step_work
SELECT u.gpu_id, s.whole_steps / s.recorded_steps
FROM gpu u JOIN v_run_steps s ON s.rank_id = u.rank_id WHERE s.recorded_steps > 0;
