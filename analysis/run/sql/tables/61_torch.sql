-- What PyTorch's TensorBoard plugin would say of each step that PyTorch's profiler marked (ProfilerStep#…) in
-- a trace of its own, by its own spans of steps and its own order: an instant is the first of the columns
-- that there is then. No rows where the trace has no such marks, is gpushim's own (it has no operators), or
-- more than 1 % of its operations have no device times.
CREATE TABLE torch_step (
  rank_id INTEGER, number INTEGER,     -- as the mark says
  begin_ns INTEGER, dur_ns INTEGER,    -- to the end of what was launched in it
  kernel_ns INTEGER, memcpy_ns INTEGER, memset_ns INTEGER,
  communication_ns INTEGER,            -- kernels that are collectives
  runtime_ns INTEGER, dataloader_ns INTEGER,
  cpu_exec_ns INTEGER,                 -- operators and ranges
  other_ns INTEGER,
  PRIMARY KEY (rank_id, number)
) WITHOUT ROWID;
