-- Do the GPUs start their steps together?
-- For a run of several GPUs. The ten steps with the longest time between the first launches of the first and
-- the last GPU. NULL: less than the clocks may be off.
SELECT step, gpus,
  round(stagger_ns / 1e3, 2) AS stagger_us,
  round(stagger_idle_ns / 1e3, 2) AS idle_before_own_first_us,   -- of all GPUs, at most
  first_order AS gpu_ids_in_order,
  round(imbalance, 4) AS imbalance,
  round(sequential_index, 4) AS sequential_index
FROM across
ORDER BY stagger_ns DESC, step
LIMIT 10;
