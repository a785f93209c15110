-- Streams. Counts and bytes are of the whole run, durations of pieces. A row with stream_id -1 is what is not
-- known of which stream it was; its gpu_id is -1, too, where the trace has several GPUs.
CREATE TABLE stream_stat (
  gpu_id INTEGER, stream_id INTEGER, stream TEXT,
  role TEXT,                                   -- compute, h2d, d2h, d2d, comm, mixed, idle; NULL: not known
  launches INTEGER, copies INTEGER, memsets INTEGER, graphs INTEGER, collectives INTEGER, bytes INTEGER,
  busy_ns INTEGER, compute_ns INTEGER, comm_ns INTEGER, h2d_ns INTEGER, d2h_ns INTEGER, d2d_ns INTEGER,
  memset_ns INTEGER,
  first_ns INTEGER, last_ns INTEGER,           -- the first start and the last end in pieces
  PRIMARY KEY (gpu_id, stream_id)
);

-- Launches of kernels and graphs, by stream. Histograms: api_call (those whose rows are there); latency_empty
-- (from enter to start, the GPU had nothing to do); latency_behind (from when the work before it in the
-- stream and the events it was told to wait for were over, to its start); queue_depth and runway (what the
-- GPU had that had not started, itself not counted, and how long that will take).
CREATE TABLE launch_stat (
  gpu_id INTEGER, stream_id INTEGER,
  count INTEGER, api_sum_ns INTEGER,
  timed INTEGER, on_empty INTEGER, behind INTEGER,
  negative INTEGER,                            -- began before they were asked for: clocks
  small INTEGER, small_ns INTEGER,             -- shorter than twice the latency
  full_queue INTEGER,                          -- the call waited because the queue was full
  api_p50_ns INTEGER, latency_p50_ns INTEGER, latency_p95_ns INTEGER, behind_p50_ns INTEGER,
  depth_p50 INTEGER, depth_max INTEGER, runway_p5_ns INTEGER,
  in_steps INTEGER,                            -- of count, as of kernel
  PRIMARY KEY (gpu_id, stream_id)
);

-- Copies that are alike. position: which one of its kind on the GPU it is in its step, from 0 (63: that or a
-- later one; -1: in no step, and times of steps that were timed in part only).
CREATE TABLE copy_stat (
  gpu_id INTEGER, stream_id INTEGER, kind TEXT, source TEXT, target TEXT, blocking INTEGER, position INTEGER,
  bytes_each INTEGER,                          -- power of two that it is below; -1: the rows are gone
  count INTEGER, bytes INTEGER, call_sum_ns INTEGER, steps INTEGER,   -- … it came in so many steps
  timed INTEGER, sum_ns INTEGER, timed_bytes INTEGER,
  best_bytes_per_s REAL,                       -- of one; where its duration is not known to a tenth, at least
  blocks_kernels_ns INTEGER,                   -- of sum_ns: nothing else ran on the GPU
  min_bytes INTEGER, max_bytes INTEGER, squares_bytes2 REAL,
  behind_kernels INTEGER,                      -- of count: kernels were launched since the one like it before
  PRIMARY KEY (gpu_id, stream_id, kind, source, target, blocking, position, bytes_each)
);

-- Memsets by stream. Sizes are of the rows that are there.
CREATE TABLE memset_stat (
  gpu_id INTEGER, stream_id INTEGER, count INTEGER, bytes INTEGER, min_bytes INTEGER, max_bytes INTEGER,
  squares_bytes2 REAL, timed INTEGER, sum_ns INTEGER,
  PRIMARY KEY (gpu_id, stream_id)
);

-- Waits of the host.
CREATE TABLE sync_stat (
  rank_id INTEGER, api TEXT, target_kind TEXT, -- '': of the context or default stream, or not known
  calls INTEGER, sum_ns INTEGER, max_ns INTEGER, in_steps INTEGER, steps INTEGER,
  after_small_d2h INTEGER,                     -- directly behind a copy of at most 4 KiB to the host
  PRIMARY KEY (rank_id, api, target_kind)
);

-- Patterns of copies: small_d2h_sync (a copy of at most 4 KiB to the host and a wait), round_trip (to the
-- host and back, the same bytes, within a step), d2d_back (to another GPU and back), repeated_input (the
-- same bytes to the device in nearly every step). Of the rows that are there; ns: the host's, in these calls.
-- between_ns: of round_trip, how long the bytes were with the host, each instant once; NULL: of the others.
CREATE TABLE transfer_pattern (
  gpu_id INTEGER, pattern TEXT, count INTEGER, bytes INTEGER, ns INTEGER, steps INTEGER, between_ns INTEGER,
  PRIMARY KEY (gpu_id, pattern)
);

-- Calls by name. calls to max_ns are of the whole run, the rest of the rows that are there.
CREATE TABLE api_stat (
  rank_id INTEGER, api TEXT, calls INTEGER, sum_ns INTEGER, min_ns INTEGER, max_ns INTEGER,
  rows INTEGER, rows_sum_ns INTEGER, squares_ns2 REAL, p50_ns INTEGER,
  PRIMARY KEY (rank_id, api)
);

-- Threads that launch operations. api_ns: in calls; running to runqueue: between them, where that is
-- recorded.
CREATE TABLE thread_stat (
  rank_id INTEGER, thread_id INTEGER, launches INTEGER, gpus INTEGER, device_switches INTEGER,
  api_ns INTEGER, running_ns INTEGER, blocked_ns INTEGER, runqueue_ns INTEGER,
  PRIMARY KEY (rank_id, thread_id)
);

-- Code that was loaded: in all, and in steps that are no warm-up (NULL: there are no steps).
CREATE TABLE load_stat (
  rank_id INTEGER, loads INTEGER, load_ns INTEGER, after_warm_up INTEGER, after_warm_up_ns INTEGER,
  PRIMARY KEY (rank_id)
);
