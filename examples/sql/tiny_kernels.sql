-- Which kernels are so short that launching them takes longer?
-- For a run. Those with a mean below twice the launch latency. gain_bound: what fusing them or a graph could
-- give back at most, in the whole run.
SELECT rank, name, executed,
  round(mean_ns / 1e3, 2) AS mean_us,
  round(share_of_timed, 4) AS share_of_launches,
  round(gain_bound_ns / 1e6, 3) AS gain_bound_ms
FROM v_kernel_small
ORDER BY rank, gpu_id, gain_bound_ns DESC
LIMIT 20;
