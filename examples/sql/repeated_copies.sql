-- Which copies come again in the same place of nearly every step?
-- For a run. What is copied each time and does not change could stay on the GPU. position: which one of its
-- kind in the step, from 0. Contents are not compared: this is where to look. A call that waits for its copy
-- has it in its own time.
SELECT c.rank, c.kind, c.source, c.position, c.steps,
  (SELECT count(*) FROM step s JOIN gpu g ON g.rank_id = s.rank_id WHERE g.gpu_id = c.gpu_id) AS of_steps,
  c.bytes / c.count AS bytes_each,
  round(c.bytes / 1e6, 3) AS megabytes,
  round((c.call_sum_ns + CASE WHEN c.blocking = 1 OR c.source = 'pageable' OR c.target = 'pageable' THEN 0
    ELSE c.sum_ns END) / 1e6, 3) AS host_and_gpu_ms
FROM v_copy_stat c
WHERE c.position >= 0 AND c.min_bytes = c.max_bytes
  AND c.steps >= 0.9 * (SELECT count(*) FROM step s JOIN gpu g ON g.rank_id = s.rank_id
                        WHERE g.gpu_id = c.gpu_id)
ORDER BY c.rank, c.bytes DESC;
