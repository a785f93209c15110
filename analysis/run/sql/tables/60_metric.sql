-- What the figures of `metric` mean: one row for each file of analysis/metric, explained in its README.md. A
-- definition that changes gets a new version. kind: measured, bounded, estimated, inferred, predicted.
-- subject: what a value is of: gpu, steps (of a rank and of the run), ranks (all of them together).
CREATE TABLE metric_definition (
  name TEXT PRIMARY KEY, version INTEGER, unit TEXT, kind TEXT, subject TEXT, words TEXT
);

-- Causes of idle and the group of each, in the order of the report.
CREATE TABLE idle_cause (cause TEXT PRIMARY KEY, cause_group TEXT);
INSERT INTO idle_cause VALUES
  ('input_loading', 'input'), ('input_wait', 'input'), ('input_cpu', 'input'), ('copy_staging', 'copy'),
  ('managed_pages', 'copy'),
  ('launch_call', 'launch'),
  ('launch_bound', 'launch'), ('launching_other_gpu', 'launch'), ('launch_latency', 'launch'),
  ('kernel_gap', 'launch'), ('sync', 'sync'), ('sync_other_gpu', 'sync'),
  ('wait_other_gpu', 'wait'), ('wait_host_callback', 'wait'),
  ('framework', 'host'), ('operator_cpu', 'host'), ('python', 'host'), ('optimizer', 'host'),
  ('between_launches', 'host'), ('callback', 'host'),
  ('interpreter_lock', 'host'), ('garbage_collection', 'host'),
  ('host_cpu', 'host'), ('host_blocked', 'host'), ('host_unknown', 'host'), ('alloc_or_load', 'host'),
  ('slow_call', 'host'),  ('graph_update', 'host'),
  ('comm_host', 'host'), ('graph_gap', 'other'),
  ('device_other', 'other'), ('other_process', 'other'), ('unresolved', 'other'),
  ('tail', 'other');
