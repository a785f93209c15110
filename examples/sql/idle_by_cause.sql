-- Why was each GPU idle?
-- For a run. The causes add up to the idle time. drained_by_sync: of it, in gaps that a wait of the host had
-- made: the queue was empty when the next launch came.
SELECT r.rank, i.cause_group, i.cause,
  round(i.ns / 1e6 / t.steps, 4) AS ms_per_step,
  round(i.ns * 1.0 / t.window_ns, 4) AS share_of_time,
  round(i.ns * 1.0 / t.idle_ns, 4) AS share_of_idle,
  round(i.drained_by_sync_ns / 1e6 / t.steps, 4) AS drained_by_sync_ms_per_step
FROM v_gpu_idle i
JOIN v_gpu_total t ON t.gpu_id = i.gpu_id
JOIN gpu g ON g.gpu_id = i.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
WHERE i.ns > 0
ORDER BY r.rank, g.device_id, i.ns DESC;
