-- In how many steps is the host slower than the GPU?
-- For a run. A step is launch bound where launch calls and the time between two of them (below 20 us) are
-- longer than what the kernels took.
SELECT rank, count(*) AS steps, sum(launch_bound) AS launch_bound_steps,
  round(avg(api_ns) / 1e6, 4) AS calls_ms,
  round(avg(between_ns) / 1e6, 4) AS between_calls_ms,
  round(avg(kernel_ns) / 1e6, 4) AS kernels_ms
FROM v_launch_bound
GROUP BY rank, gpu_id
ORDER BY rank, gpu_id;
