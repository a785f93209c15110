-- Where did the time of each GPU go?
-- For a run. Of whole timed steps that count; productive, waiting, exposed communication, memory and
-- idle add up to 1. A copy and a collective that run beside kernels are in their own columns as well.
SELECT r.rank, g.uuid AS gpu, t.steps,
  round(t.window_ns / 1e6 / t.steps, 3) AS step_ms,
  round(t.productive_ns * 1.0 / t.window_ns, 4) AS productive_share,
  round(t.waiting_for_peer_ns * 1.0 / t.window_ns, 4) AS waiting_for_peer_share,
  round(t.exposed_transfer_ns * 1.0 / t.window_ns, 4) AS exposed_comm_share,
  round(t.memory_ns * 1.0 / t.window_ns, 4) AS memory_share,
  round(t.idle_ns * 1.0 / t.window_ns, 4) AS idle_share,
  round(t.copy_ns * 1.0 / t.window_ns, 4) AS copy_share,
  round(t.comm_ns * 1.0 / t.window_ns, 4) AS comm_share
FROM v_gpu_total t
JOIN gpu g ON g.gpu_id = t.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
WHERE t.window_ns > 0
ORDER BY r.rank, g.device_id;
