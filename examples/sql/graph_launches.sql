-- Which graphs were launched, what is in them, and how long do they take?
-- For a trace. The whole launch is one span on the GPU: what is inside has no times of its own.
SELECT device_id, graph_id, count(*) AS launches,
  kernels, copies, memsets, bytes AS copied_bytes,
  round(avg(dur_ns) / 1e3, 2) AS call_us,
  round(avg(device_dur_ns) / 1e3, 2) AS on_gpu_us
FROM v_graph_launch
WHERE captured = 0 AND failed = 0
GROUP BY device_id, graph_id
ORDER BY count(*) DESC;
