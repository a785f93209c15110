-- Does data go to the host and back, and does the host wait for small results?
-- For a run. small_d2h_sync: a copy of at most 4 KiB to the host and a wait, as loss.item() does; round_trip:
-- the same bytes to the host and back within a step; d2d_back: to another GPU and back; repeated_input: the
-- same number of bytes to the GPU in nearly every step. host_ms: in these calls.
SELECT r.rank, p.pattern, p.count, p.steps,
  round(p.count * 1.0 / nullif(p.steps, 0), 2) AS per_step,
  p.bytes,
  round(p.ns / 1e6, 3) AS host_ms
FROM transfer_pattern p
JOIN gpu g ON g.gpu_id = p.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
ORDER BY r.rank, g.device_id, p.ns DESC;
