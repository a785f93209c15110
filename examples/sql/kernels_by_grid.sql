-- Which launches have too few blocks to fill a GPU?
-- For a trace. Blocks against the length: a long kernel of few blocks leaves multiprocessors idle, however
-- busy the GPU looks. Sorted by time; NULL: none was timed.
SELECT kernel, grid_x * grid_y * grid_z AS blocks, block_x * block_y * block_z AS threads_per_block,
  count(*) AS launches,
  round(avg(device_dur_ns) / 1e3, 2) AS mean_us,
  round(sum(device_dur_ns) / 1e6, 3) AS sum_ms
FROM v_launch
WHERE captured = 0 AND failed = 0
GROUP BY kernel, blocks, threads_per_block
ORDER BY sum(device_dur_ns) DESC, kernel
LIMIT 20;
