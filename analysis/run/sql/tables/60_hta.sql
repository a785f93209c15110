-- What HolisticTraceAnalysis would say of each trace, by its own windows and classes, to compare with it.
-- Where the program had several steps (ranges ProfilerStep#…), what was launched from the beginning of the
-- last one on does not count, nor what has no launch call.
CREATE TABLE hta_time (
  rank_id INTEGER PRIMARY KEY,
  window_ns INTEGER,             -- from the start of the first operation to the end of the last
  busy_ns INTEGER,               -- something ran
  compute_ns INTEGER,            -- kernels that neither communicate nor copy
  comm_ns INTEGER,
  overlap_ns INTEGER,            -- both of these
  operations INTEGER,            -- that count
  left_out INTEGER,              -- that do not
  untimed INTEGER,               -- without device times: with more than 1 % of them the views say nothing
  out_of_order INTEGER           -- launched so much later than they ran that they may be missing in a union
);

-- From the end of an operation to the start of the next of its stream. Less than 0: they overlapped.
CREATE TABLE hta_gap (
  rank_id INTEGER, stream INTEGER,   -- its number, as the profiler or the driver has it
  category TEXT,                     -- host_wait, kernel_wait, other
  ns INTEGER, gaps INTEGER,
  PRIMARY KEY (rank_id, stream, category)
);
