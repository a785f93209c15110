-- Which steps were the slowest, and what had more time in them than usual?
-- For a run. Five of each GPU. `more_of` is what grew most against the mean of all steps: productive work,
-- waiting for a peer, exposed communication, memory, or idle by its cause.
WITH
  part AS (
    SELECT gpu_id, step, 'productive' AS what, productive_ns AS ns FROM v_gpu_counted
    UNION ALL
    SELECT gpu_id, step, 'waiting for peer', waiting_for_peer_ns FROM v_gpu_counted
    UNION ALL
    SELECT gpu_id, step, 'exposed communication', exposed_transfer_ns FROM v_gpu_counted
    UNION ALL
    SELECT gpu_id, step, 'memory', memory_ns FROM v_gpu_counted
    UNION ALL
    SELECT c.gpu_id, c.step, 'idle: ' || p.cause, sum(p.ns)
    FROM v_gpu_counted c JOIN gap p ON p.gpu_id = c.gpu_id AND p.step = c.step
    GROUP BY c.gpu_id, c.step, p.cause),
  usual AS (
    SELECT p.gpu_id, p.what, sum(p.ns) * 1.0 / t.steps AS ns
    FROM part p JOIN v_gpu_total t ON t.gpu_id = p.gpu_id
    GROUP BY p.gpu_id, p.what),
  slow AS (
    SELECT gpu_id, step, number, window_ns,
      row_number() OVER (PARTITION BY gpu_id ORDER BY window_ns DESC, step) AS place
    FROM v_gpu_counted),
  grown AS (
    SELECT p.gpu_id, p.step, p.what, p.ns - u.ns AS more_ns,
      row_number() OVER (PARTITION BY p.gpu_id, p.step ORDER BY p.ns - u.ns DESC) AS place
    FROM part p JOIN usual u ON u.gpu_id = p.gpu_id AND u.what = p.what)
SELECT r.rank, s.number AS step,
  round(s.window_ns / 1e6, 3) AS step_ms,
  round(t.window_ns / 1e6 / t.steps, 3) AS mean_ms,
  w.what AS more_of,
  round(w.more_ns / 1e6, 3) AS more_ms
FROM slow s
JOIN grown w ON w.gpu_id = s.gpu_id AND w.step = s.step AND w.place = 1
JOIN v_gpu_total t ON t.gpu_id = s.gpu_id
JOIN gpu g ON g.gpu_id = s.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
WHERE s.place <= 5
ORDER BY r.rank, g.device_id, s.place;
