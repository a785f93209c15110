-- What ran on a GPU at the same time, and for how long: every instant of a known span is in one row.
-- classes: 1 compute, 2 transfer of a collective, 4 wait of a collective for other ranks, 8 h2d, 16 d2h,
-- 32 d2d, 64 p2p, 128 memset, 256 graph (compute and what else is in it), 512 copy of unknown direction;
-- 0: idle. step: kNoStep (-1) is what lies in no whole step.
CREATE TABLE activity (
  gpu_id INTEGER, step INTEGER, classes INTEGER, ns INTEGER, PRIMARY KEY (gpu_id, step, classes)
) WITHOUT ROWID;

-- Steps that were timed from begin to end on this GPU (and -1: the rest of the known spans).
CREATE TABLE gpu_step (
  gpu_id INTEGER, step INTEGER,
  window_ns INTEGER,
  busy_low_ns INTEGER, busy_high_ns INTEGER,   -- see v_gpu_bounds
  busy_likely_low_ns INTEGER, busy_likely_high_ns INTEGER,  -- in 95 of 100 cases
  operations INTEGER, timed INTEGER,           -- launched in it; of them, with device times
  first_launch_ns INTEGER,                     -- offset from the step's begin
  api_ns INTEGER,                              -- in launch calls
  between_ns INTEGER,                          -- the host between two of them, if below 20 us
  own_work_ns INTEGER,                         -- window less the wait for peers beside which no kernel ran
  PRIMARY KEY (gpu_id, step)
) WITHOUT ROWID;

-- Why it was idle: sums by cause; they are the `activity` of classes 0, to the nanosecond. A row for each
-- (gpu_id, step, cause, blocked_on).
CREATE TABLE gap (
  gpu_id INTEGER, step INTEGER, cause TEXT, blocked_on TEXT,   -- '': not sampled
  ns INTEGER, pieces INTEGER, longest_ns INTEGER,
  longest_from_ns INTEGER,                     -- as the program ran, on the host's clock
  drained_by_sync_ns INTEGER                   -- of it, in gaps that a wait of the host had made
);
CREATE INDEX gap_of_step ON gap (gpu_id, step);  -- a key of all four takes twice as long to write

-- Of that, in lines of Python, where samples say so. Of a stack the
-- innermost line of the program's own code, else the innermost; inside_…: of the libraries that it called
-- into the innermost line, '': it called into none.
CREATE TABLE idle_python (
  gpu_id INTEGER, step INTEGER, cause TEXT,
  file TEXT, function TEXT, line INTEGER,      -- NULL: the interpreter told none
  ns INTEGER,
  samples INTEGER,                             -- that say so: each stands for the time around it
  inside_file TEXT, inside_function TEXT, inside_line INTEGER
);

-- Of that, in the program's own ranges (NVTX, annotations): the innermost that was open on the thread that
-- launched what ran next, up to the return of that launch. What is in no range has no row.
CREATE TABLE idle_range (
  gpu_id INTEGER,
  steps TEXT,                                  -- counted (also slices), others (warm-up, left out), none: in
                                               -- no whole step
  cause TEXT,
  domain TEXT, name TEXT,                      -- as in range_kernel; NULL, too, behind the first 10,000 names
  ns INTEGER,
  over_ns INTEGER                              -- of it, in ranges that were over before that launch
);

-- Of the causes of group input, the stages of loading a batch, where names of functions, operators or
-- marks, or what the thread was blocked on, tell: waits (for workers or queues), reads, decodes, transforms
-- (samples), collates (puts samples together), copies (to pinned memory or a GPU).
CREATE TABLE input_stage (
  gpu_id INTEGER, step INTEGER, stage TEXT, ns INTEGER, PRIMARY KEY (gpu_id, step, stage)
) WITHOUT ROWID;

-- Time on all GPUs of one trace together, for the sequential index: of whole steps (-1: the rest).
CREATE TABLE together (
  rank_id INTEGER, step INTEGER,
  gpus INTEGER,                                -- how many were active at some time
  union_ns INTEGER, sum_ns INTEGER, longest_ns INTEGER,
  PRIMARY KEY (rank_id, step)
) WITHOUT ROWID;

-- Of idle time of a cause: the thread that launched what came next could have run and had no CPU. By
-- samples; counted where its gap began.
CREATE TABLE cpu_contention (
  gpu_id INTEGER, step INTEGER, cause TEXT, ns INTEGER, PRIMARY KEY (gpu_id, step, cause)
);

-- Operations that cannot be as they are told; a row where there are any.
CREATE TABLE odd_operation (
  gpu_id INTEGER PRIMARY KEY,
  invalid INTEGER,               -- end not after start: no time of theirs counts
  early INTEGER                  -- began before they were asked for; where that is settled, moved to then
);

-- A row for each GPU of which those counted steps that were timed as a whole are few, and unlike the others:
-- they take 1.25 times as long on average, or as much less, or most are like (half to twice) what few others
-- are.
CREATE TABLE unlike_steps (gpu_id INTEGER PRIMARY KEY);


-- GPUs that several processes of one host used (with MPS, or by turns), as they ran: a row for each process.
-- union_ns + next_own_ns + other_process_ns + tail_ns = known_ns.
CREATE TABLE shared_gpu (
  gpu_id INTEGER PRIMARY KEY,    -- the process's row of `gpu`
  shared_id INTEGER,             -- of the first process's row: the same GPU
  processes INTEGER,
  known_ns INTEGER,              -- timed in all of them, or before a process began and after it had ended
  union_ns INTEGER,              -- at least one of them was busy
  busy_ns INTEGER,               -- this one was
  next_own_ns INTEGER,           -- none was, and what came next was this one's: `gap` has the causes
  other_process_ns INTEGER,      -- none was, and what came next was another's
  tail_ns INTEGER,               -- none was, and nothing came
  why TEXT                       -- nothing is known
);
