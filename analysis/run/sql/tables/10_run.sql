-- One run: summaries of all its traces. Times are CLOCK_MONOTONIC of each trace's host, in ns; NULL means:
-- not recorded, or refused (a column `why` says so). Sums add up over runs, GPUs and steps; medians do not,
-- and stand only in what is derived from sums and histograms.

-- Facts and options: started_real_ns, traces, ranks_seen, ranks_expected, unknown_abi, run_key, tag,
-- not_ended (traces), placeless_operations (on no GPU that their trace knows), partly_read (files of other
-- tools that break off or are damaged), simulated, params,
-- bandwidth_bytes_per_s, samples_per_step, price_per_gpu_hour,
-- flops_per_sample, tokens_per_sample (with params: 6 x params x tokens_per_sample operations a sample),
-- driver_version ("580.65.06, CUDA 13.0"), nccl_version, sources (own, kineto, nsys, xplane),
-- python_refused (why lines of Python were not read),
-- frameworks (pytorch,python: what traces tell; none: that it is none of those known; no row: they do not
-- tell), analysed_by.
CREATE TABLE run (key TEXT PRIMARY KEY, value);

-- The fixed list of performance variables, as the ranks had them.
CREATE TABLE environment (rank_id INTEGER, name TEXT, value TEXT, PRIMARY KEY (rank_id, name));

-- A row for each trace.
CREATE TABLE rank (
  rank_id INTEGER PRIMARY KEY,
  rank INTEGER,                  -- of the whole job; NULL: unknown
  world_size INTEGER,
  host TEXT, pid INTEGER, executable TEXT, uuid TEXT, file TEXT,
  started_real_ns INTEGER,
  first_ns INTEGER, last_ns INTEGER,   -- of what was recorded
  produced INTEGER, recorded INTEGER, recovered INTEGER, unfinished INTEGER, dropped INTEGER,
  unknown INTEGER,
  level TEXT,                    -- of device times: host, events, cupti, kineto, nsys, xplane
  clock_error_ns INTEGER,        -- between the host's clock and device times
  own_cost_share REAL, budget REAL, writer_cpu_share REAL,
  steps_source TEXT,             -- gpushim_step, ranges, profiler, detected, none: rows of `step` are slices
  steps_anchor TEXT, steps_confidence REAL, steps_why TEXT, micro_steps INTEGER,
  rows_gone INTEGER,             -- 1: of some of its time there are totals only (table summarised)
  marked_steps INTEGER,          -- of all of its time; NULL: the program marked none
  outside_steps INTEGER,         -- before the first step and behind the last whole one: 0 to 2, by how much
                                 -- was launched there; NULL: no steps
  called_ahead INTEGER           -- 1: steps are from when their work ran, and hold what was called for it
);

CREATE TABLE "drop" (
  rank_id INTEGER, reason TEXT, events INTEGER, PRIMARY KEY (rank_id, reason)
);

-- A row for each GPU of each trace. Shares are of the whole run and of the program itself, without our
-- events.
CREATE TABLE gpu (
  gpu_id INTEGER PRIMARY KEY,
  rank_id INTEGER, device_id INTEGER, uuid TEXT, name TEXT, simulated INTEGER,
  memory_total_bytes INTEGER, memory_peak_bytes INTEGER,
  run_ns INTEGER,                -- how long the run was
  busy_share REAL, busy_share_low REAL, busy_share_high REAL,                 -- see v_gpu_bounds
  busy_share_likely_low REAL, busy_share_likely_high REAL,                    -- in 95 of 100 cases
  as_it_ran_share REAL, as_it_ran_share_low REAL, as_it_ran_share_high REAL,  -- with our events
  level TEXT, coverage REAL, timed_share REAL, windows INTEGER,
  why TEXT,                      -- there is no busy_share
  latency_ns INTEGER, latency_p95_ns INTEGER, kernel_gap_ns INTEGER, -- what idle causes were told apart by
  gaps_calibrated INTEGER,       -- 0: never calibrated (see v_gpu_bounds); NULL: not recorded
  timed_until_ns INTEGER,        -- the end of the last window that counts; NULL: none does, or not told
  open_share REAL,               -- of windows, at most so much was only of operations without times …
  inferred_share REAL,           -- … of which in so much more it is inferred that they ran (busy/chains.h)
  unused INTEGER                 -- 1: see v_unused_gpu
);

-- Steps of each rank, or slices of the run where there are none (rank.steps_source). Numbers are the
-- program's own where it gave some, else from 1.
CREATE TABLE step (
  rank_id INTEGER, step INTEGER,       -- step: index from 0, as in all other tables
  number INTEGER, begin_ns INTEGER, dur_ns INTEGER,
  signature INTEGER,                   -- the same: the same operations
  samples INTEGER,
  warm_up INTEGER, left_out INTEGER, why TEXT, has_load INTEGER,
  PRIMARY KEY (rank_id, step)
) WITHOUT ROWID;

-- What is known of each GPU's steps.
CREATE TABLE step_work (
  gpu_id INTEGER PRIMARY KEY,
  times REAL,     -- what was called in them is, so many times, the work of v_run_steps.whole_steps
  coverage REAL   -- with times, of the operations in those that count and were timed whole; NULL: none was
);

-- What v_step_sum says, kept: other views ask for it.
CREATE TABLE step_sum (
  rank_id INTEGER PRIMARY KEY,
  steps INTEGER, dur_ns INTEGER
);

-- Whether each trace's program trains or serves a language model.
CREATE TABLE program (
  rank_id INTEGER PRIMARY KEY,
  kind TEXT,                           -- training, serving, not known
  confidence REAL, why TEXT,
  batches_end INTEGER                  -- 1: each batch ends before the next prompt: no sequence goes on
);

-- What a server's step is; a row for each step of a trace whose program serves.
CREATE TABLE iteration (
  rank_id INTEGER, step INTEGER,
  kind TEXT,                           -- prefill, decode, mixed, eager (one of both, without a graph), other
  class INTEGER,                       -- alike: one number; as a rule a batch size; -1: too many
  graphs INTEGER, launches INTEGER,    -- of these, kernels that were launched without a graph
  PRIMARY KEY (rank_id, step)
) WITHOUT ROWID;

-- How long in each of them no request was open; of ranks whose program marks its requests, all of them.
CREATE TABLE quiet (
  rank_id INTEGER, step INTEGER, ns INTEGER, PRIMARY KEY (rank_id, step)
) WITHOUT ROWID;

-- What a server was asked for: its own ranges with such names, as they began.
CREATE TABLE request (
  rank_id INTEGER, request INTEGER,
  name TEXT, begin_ns INTEGER,
  end_ns INTEGER,                      -- NULL: it did not end
  PRIMARY KEY (rank_id, request)
) WITHOUT ROWID;

-- Phases of steps, by when their operations were submitted.
CREATE TABLE phase (
  rank_id INTEGER, step INTEGER, name TEXT,  -- input, forward, backward, communication, optimizer
  begin_ns INTEGER, dur_ns INTEGER,            -- of the host: when it launched the phase's operations
  confidence REAL,
  device_ns INTEGER,                           -- so long these ran: h2d copies, collectives (waits too),
                                               -- other kernels; NULL: not all were timed
  PRIMARY KEY (rank_id, step, name, begin_ns)
) WITHOUT ROWID;

-- How often each duration came, in buckets of a 16th of a power of two; adds up. `what`: kernel (how long
-- they took, stream_id -1); of launches see launch_stat.
CREATE TABLE histogram (
  what TEXT, gpu_id INTEGER, stream_id INTEGER, bucket INTEGER, count INTEGER, sum_ns INTEGER,
  PRIMARY KEY (what, gpu_id, stream_id, bucket)
);

-- Every figure that is printed, with what it is worth. `kind`: measured, bounded, estimated, inferred,
-- predicted. scope: run, rank, gpu, communicator; id: of its row.
CREATE TABLE metric (
  name TEXT, scope TEXT, id INTEGER, value REAL, unit TEXT, kind TEXT, definition INTEGER,
  level TEXT, coverage REAL, timed_share REAL, clock_error_ns INTEGER, why TEXT,
  PRIMARY KEY (name, scope, id)
);
-- Of those that are an interval: its bounds (v_gpu_bounds says whether they hold), of the timed steps where
-- it is of steps, and the range that holds the truth in 95 of 100 cases.
CREATE TABLE metric_interval (
  name TEXT, scope TEXT, id INTEGER, low REAL, high REAL, likely_low REAL, likely_high REAL,
  PRIMARY KEY (name, scope, id)
);

-- What to do, by what the run was analysed with; filled by the advice (analysis/advice). Gains are predicted,
-- of a step, or of a second where there are no steps. evidence: rows of this database, as JSON.
CREATE TABLE finding (
  place INTEGER PRIMARY KEY,     -- in the order in which to do them
  id TEXT,
  kind TEXT,                     -- gain; no_gain: would not help here; note
  title TEXT, gain_low_ns INTEGER, gain_high_ns INTEGER, confidence REAL, evidence TEXT, try TEXT
);
