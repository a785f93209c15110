-- How much of the communication is hidden behind work?
-- For a run. exposed: nothing else ran on that GPU. It is waiting for a peer or the transfer itself.
SELECT r.rank, c.steps,
  round(c.comm_ns / 1e6 / c.steps, 4) AS comm_ms_per_step,
  round(c.exposed_comm_ns / 1e6 / c.steps, 4) AS exposed_ms_per_step,
  round(c.waiting_for_peer_ns / 1e6 / c.steps, 4) AS waiting_ms_per_step,
  round(1 - c.exposed_comm_ns * 1.0 / nullif(c.comm_ns, 0), 4) AS overlap_share
FROM v_gpu_total c
JOIN gpu g ON g.gpu_id = c.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
ORDER BY r.rank, g.device_id;
