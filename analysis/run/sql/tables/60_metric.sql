-- What the figures of `metric` mean: one row for each, explained in analysis/README.md. A definition that
-- changes gets a new version. kind: measured, bounded, estimated, inferred, predicted. formula_section:
-- 1 busy, 2 idle, 3 steps, 4 launches, 5 AllReduce, 6 waits, 7 GPUs beside each other; kernels: names.
CREATE TABLE metric_definition (
  name TEXT PRIMARY KEY, version INTEGER, unit TEXT, kind TEXT, formula_section TEXT, words TEXT
);
INSERT INTO metric_definition VALUES
  ('busy_share', 1, 'share', 'measured', '1', 'at least one operation ran, in whole timed steps'),
  ('run_busy_share', 1, 'share', 'estimated', '1',
   'at least one operation ran, of the whole run, without our events'),
  ('productive_share', 1, 'share', 'measured', '1', 'busy without waiting for peers'),
  ('waiting_for_peer_share', 1, 'share', 'measured', '1',
   'a collective waited for another rank and nothing else ran'),
  ('idle_share', 1, 'share', 'measured', '1', 'nothing ran'),
  ('compute_share', 1, 'share', 'measured', '1', 'a kernel or a graph ran'),
  ('copy_share', 1, 'share', 'measured', '1', 'a copy ran'),
  ('comm_share', 1, 'share', 'measured', '1', 'a collective ran or waited'),
  ('idle_input_share', 1, 'share', 'inferred', '2', 'idle while the next batch was loaded'),
  ('idle_copy_share', 1, 'share', 'inferred', '2', 'idle while the host copied into staging memory'),
  ('idle_launch_share', 1, 'share', 'inferred', '2', 'idle for work that was being launched'),
  ('idle_sync_share', 1, 'share', 'inferred', '2',
   'idle while the launching thread waited for the GPU or woke up'),
  ('idle_wait_share', 1, 'share', 'inferred', '2', 'idle for another GPU or a callback on the host'),
  ('idle_host_share', 1, 'share', 'inferred', '2', 'idle while the host did something else'),
  ('idle_other_share', 1, 'share', 'inferred', '2', 'idle for reasons that cannot be told'),
  ('exposed_comm_share', 1, 'share', 'measured', '6', 'communication while nothing else ran'),
  ('overlap_share', 1, 'share', 'measured', '6', 'of communication, while something else ran'),
  ('step_median_ns', 1, 'ns', 'measured', '3', 'from one step to the next, in the middle'),
  ('step_p95_ns', 1, 'ns', 'measured', '3', 'from one step to the next, 95 of 100 take no longer'),
  ('step_count', 1, 'steps', 'measured', '3', 'steps that count'),
  ('samples_per_s', 1, '1/s', 'measured', '3', 'samples of all ranks in a step, over the median step'),
  ('launch_call_p50_ns', 1, 'ns', 'measured', '4', 'inside a launch call, busiest stream'),
  ('launch_latency_p50_ns', 1, 'ns', 'measured', '4', 'from call to start on an empty GPU, busiest stream'),
  ('launch_latency_p95_ns', 1, 'ns', 'measured', '4', 'the same, 95 of 100 take no longer'),
  ('runway_p5_ns', 1, 'ns', 'measured', '4',
   'submitted work that was left at a launch, least of 20, busiest stream'),
  ('small_kernel_share', 1, 'share', 'measured', '4',
   'of timed launches, shorter than twice the launch latency'),
  ('tensor_core_share', 1, 'share', 'inferred', 'kernels',
   'of eligible kernel time, on tensor cores by name'),
  ('tensor_core_unknown_share', 1, 'share', 'inferred', 'kernels',
   'of eligible kernel time, names that do not tell'),
  ('eligible_share', 1, 'share', 'inferred', 'kernels', 'of kernel time, matrix products and convolutions'),
  ('allreduce_ratio_to_params', 1, 'ratio', 'measured', '5',
   'parameters that a step reduced, over those given'),
  ('allreduce_measured_ns', 1, 'ns', 'measured', '5', 'transfers of the gradients in a step'),
  ('allreduce_expected_ns', 1, 'ns', 'predicted', '5', 'the same by bytes and bandwidth'),
  ('lost_gpu_ns', 1, 'ns', 'measured', '6', 'waits of all ranks for others, of the busiest communicator'),
  ('straggler_saved_ns', 1, 'ns', 'measured', '6',
   'per step, if the slowest rank were as fast as the next'),
  ('stagger_p50_ns', 1, 'ns', 'measured', '7',
   'from the first launch of a step on any GPU to that on the last'),
  ('sequential_index', 1, 'ratio', 'measured', '7', '0: GPUs work at the same time, 1: one after another'),
  ('imbalance', 1, 'ratio', 'measured', '7', 'the most loaded GPU over the mean, less 1');

-- Causes of idle and the group of each, in the order of the report.
CREATE TABLE idle_cause (cause TEXT PRIMARY KEY, cause_group TEXT);
INSERT INTO idle_cause VALUES
  ('input_wait', 'input'), ('input_cpu', 'input'), ('copy_staging', 'copy'), ('launch_call', 'launch'),
  ('launch_bound', 'launch'), ('launching_other_gpu', 'launch'), ('launch_latency', 'launch'),
  ('kernel_gap', 'launch'), ('sync', 'sync'), ('wait_other_gpu', 'wait'), ('wait_host_callback', 'wait'),
  ('host_cpu', 'host'), ('host_blocked', 'host'), ('host_unknown', 'host'), ('alloc_or_load', 'host'),
  ('comm_host', 'host'), ('device_other', 'other'), ('other_process', 'other'), ('unresolved', 'other'),
  ('tail', 'other');
