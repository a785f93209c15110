-- What PyTorch's TensorBoard plugin would say of each step that PyTorch's profiler marked (ProfilerStep#…) in
-- a trace of its own, by its own spans of steps and its own order: an instant is the first of the columns
-- that there is then. A trace of PyTorch's profiler without marks is one step, 0. No rows where another trace
-- has none, where it is gpushim's own (it has no operators), or where more than 1 % of its operations have no
-- device times.
CREATE TABLE torch_step (
  rank_id INTEGER, number INTEGER,     -- as the mark says: two profiles in one file count from the same one
  begin_ns INTEGER, dur_ns INTEGER,    -- to the end of what was launched in it
  kernel_ns INTEGER, memcpy_ns INTEGER, memset_ns INTEGER,
  communication_ns INTEGER,            -- kernels that operators launched whose names that tool knows
  runtime_ns INTEGER, dataloader_ns INTEGER,
  cpu_exec_ns INTEGER,                 -- operators and ranges
  other_ns INTEGER
);
