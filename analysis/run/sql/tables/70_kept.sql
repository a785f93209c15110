-- What is kept of single calls: of each rank its typical and its worst step, for timelines. Steps that were
-- timed whole come first, where there are any; at most 20,000 rows of each. And of up to eight ranks the
-- typical and the worst step of all ranks, where these are others. Of a rank without steps an excerpt: the
-- slice in which half of its operations had been called, its first 4,000 rows.
CREATE TABLE kept_step (
  rank_id INTEGER, step INTEGER,
  -- typical: of the median length; worst: the longest; "typical of all ranks", "worst of all ranks": kept for
  -- together_step only; excerpt, "excerpt of all ranks": no step, but a slice
  why TEXT,
  rows INTEGER, left_out INTEGER, -- that are kept, and for which there was no room
  real_minus_mono_ns INTEGER,    -- to add to the times below for CLOCK_REALTIME
  PRIMARY KEY (rank_id, step)
);

-- Threads and streams of these rows.
CREATE TABLE kept_track (
  rank_id INTEGER, kind TEXT,    -- thread, stream
  device_id INTEGER,             -- of a stream
  number INTEGER,                -- of a thread its number in the system, of a stream as in kept_call
  name TEXT
);

-- Texts of these rows, each once, of at most 1 KiB; number 0: there was no room for it.
CREATE TABLE kept_text (rank_id INTEGER, id INTEGER, text TEXT, PRIMARY KEY (rank_id, id));

-- Calls, ranges and what threads did between calls, in order of their begin.
CREATE TABLE kept_call (
  rank_id INTEGER, step INTEGER, nth INTEGER,
  -- launch, copy, memset, graph, sync, collective, memory, call, range, process_range, gap, mark
  kind TEXT,
  enter_ns INTEGER, dur_ns INTEGER,    -- on the host
  tid INTEGER,
  flags INTEGER,                 -- 1 captured, 2 failed, 4 unfinished
  device_id INTEGER, context_id INTEGER, stream INTEGER,
  group_id INTEGER,              -- the NCCL call that it is, or is part of
  start_ns INTEGER, ran_ns INTEGER,    -- on the device
  error_ns INTEGER,              -- of these, if they are estimates; 0: stamps
  name_id INTEGER,               -- kept_text: the call's, range's or mark's
  what_id INTEGER,               -- kept_text: kernel; communicator; what the thread was blocked on
  -- By kind. launch: shared bytes, grid (3), block (3); copy: bytes, direction, sides; memset: bytes; graph:
  -- its number, kernels; sync, call: event, calls; collective: bytes, count, type, peer, number on its
  -- communicator, ranks, rank; memory: bytes, kind, address, held; gap: running_ns, runqueue_ns, samples
  n0 INTEGER, n1 INTEGER, n2 INTEGER, n3 INTEGER, n4 INTEGER, n5 INTEGER, n6 INTEGER,
  before INTEGER,                -- 0: called in this step; n: n steps before it (or before the first
                                 -- step), and still ran when it began
  range_id INTEGER,              -- kept_text: of an operation the innermost range of its thread that lies in
                                 -- the step and was open when it was called; NULL: none
  line_id INTEGER,               -- kept_text: the line of Python that its kernel was seen launched from, and
                                 -- in how many samples of the kernel's; NULL: not sampled
  PRIMARY KEY (rank_id, step, nth)
);

-- Ranks under each other in one step: whose calls of it are kept, and how their clocks stand.
CREATE TABLE together_step (
  -- typical, worst: by the rank in which the step took longest; excerpt: of ranks without steps
  why TEXT,
  rank_id INTEGER, step INTEGER, -- the rank's own number of the step
  of_ranks INTEGER,              -- that have this step; at most eight are kept
  own_work_ns INTEGER,           -- in this step, of its GPU with the most; NULL: not known
  is_straggler INTEGER,          -- 1: of the whole run
  offset_ns INTEGER,             -- to add to its times to have those of the first trace's host
  -- same: it is that host; collectives: they tell the offset; wall: the hosts' wall clocks do; none: nothing
  -- does, and its step is taken to begin when the others' does
  clock TEXT,
  clock_error_ns INTEGER,        -- of the offset, if collectives tell it
  -- Which of its steps it is. collectives: the one in which these were called; time: the one of that time
  step_by TEXT,
  PRIMARY KEY (why, rank_id)
);
