-- A row for each instance and rank. comm: the communicator's uid. Two ends of a point-to-point call are one.
-- Kernels that are collectives by their name only (custom) have no comm, wait or transfer, and seq is the nth
-- of that rank. Where a trace does not say which rank of a communicator it is, comm has its rank_id behind
-- it.
CREATE TABLE collective_instance (
  instance INTEGER, rank_id INTEGER,
  comm TEXT, seq INTEGER, op TEXT, dtype TEXT, comm_rank INTEGER, step INTEGER,
  calls INTEGER,                               -- in one kernel; above 1 a call has no time of its own
  captured INTEGER,                            -- 1: into a graph; then it has no step and no time of its own
  replays INTEGER,                             -- so often it ran, 1 if it was not captured; NULL: not known
  bytes INTEGER, whole_bytes INTEGER,          -- as passed; S of the formulas
  ranks INTEGER, parts INTEGER,                -- that take part; that were seen
  start_ns INTEGER, own_ns INTEGER,            -- on this rank, by its own clock
  wait_ns INTEGER, transfer_ns INTEGER,
  transfer_by TEXT,                            -- shortest, last_start
  gpu_id INTEGER, stream_id INTEGER, custom INTEGER,   -- 1: by its kernel's name only
  PRIMARY KEY (instance, rank_id, comm_rank)  -- a process may have several of its ranks
);

-- What v_collective_sum says, kept: to put the rows of each rank together takes as long as to write them.
CREATE TABLE collective_sum (
  rank_id INTEGER PRIMARY KEY,
  own_ns REAL,          -- of all that ran
  unknown_ns REAL,      -- of those of which it is not known how long the rank waited
  messages INTEGER,     -- 1: one of these is a message of which both ends were seen
  ranks INTEGER,        -- where not all ranks were seen, the most that take part …
  parts INTEGER         -- … and that were seen; NULL: all were
);

CREATE TABLE collective_mismatch (
  comm TEXT, seq INTEGER, kind TEXT, rank INTEGER, other_rank INTEGER, said TEXT, other_said TEXT
);

-- Instances that are alike. Rates are of the median transfer.
CREATE TABLE collective_stat (
  comm TEXT, op TEXT, dtype TEXT, bytes INTEGER, ranks INTEGER,
  count INTEGER,                               -- how often it ran, as far as that is known
  in_steps INTEGER,                            -- of these, in steps that count
  timed INTEGER, complete INTEGER,             -- instances with a transfer; that all ranks were seen in
  whole_bytes INTEGER,                         -- S of one
  transfer_sum_ns INTEGER, wait_sum_ns INTEGER, own_sum_ns INTEGER,  -- waits and own times: of all ranks
  transfer_p50_ns INTEGER, wait_p50_ns INTEGER,
  spread_p50_ns INTEGER,                       -- NULL also where it is below what the clocks may be off
  transfer_by TEXT,                            -- of most: shortest, last_start
  algbw_bytes_per_s REAL, busbw_bytes_per_s REAL, busbw_incl_wait_bytes_per_s REAL,
  expected_simple_ns INTEGER, expected_ring_ns INTEGER,
  expected_ns INTEGER, expected_by TEXT,       -- ring, tree, nvls by its kernel's name; two_level
  bandwidth_bytes_per_s REAL, bandwidth_source TEXT,
  efficiency REAL,                             -- expected_ns of the median transfer
  efficiency_by TEXT,                          -- bandwidth, latency; why there is none: few_instances,
                                               -- spread, nothing_expected
  hosts INTEGER,                               -- that its ranks lie on; NULL: not known
  between_bytes_per_s REAL,                    -- of all links of one host; there: expected by two levels, and
  between_source TEXT,                         -- bandwidth_bytes_per_s is within a host
  expected_why TEXT,                           -- on several hosts, and two levels are not known
  latency_ns REAL,                             -- of one round of a ring: what the communicator's smallest
                                               -- messages took at their best, over their rounds; NULL:
                                               -- none below 256 KiB was timed on all ranks
  latency_bytes INTEGER,                       -- S of these messages
  UNIQUE (comm, op, dtype, bytes)
);

CREATE TABLE communicator (
  comm TEXT PRIMARY KEY, ranks INTEGER, seen INTEGER, parent TEXT,
  link TEXT,                                   -- the weakest between two of its GPUs; NULL: not known
  slow_link INTEGER,                           -- 1: as many GPUs of these hosts are joined better
  link_bytes_per_s REAL,                       -- what that link carries, by its kind
  best_bytes_per_s REAL                        -- the same of as many GPUs, chosen as well as they can be
);

-- Around the collectives of a step that was timed from begin to end; a row where something was reduced before
-- the optimizer. What packs, unpacks, works on gradients or is the optimizer is told by kernels' names.
CREATE TABLE comm_step (
  gpu_id INTEGER, step INTEGER,
  pack_ns INTEGER,                             -- behind the last kernel of the backward pass: a union
  unpack_ns INTEGER,                           -- before the first kernel of the optimizer: a union
  start_delay_ns INTEGER,                      -- collectives could have started, and their GPU computed;
                                               -- NULL: the source does not say what waits for what
  PRIMARY KEY (gpu_id, step)
);

-- Bytes of a step against the parameters; one row for the run, asked of one GPU.
CREATE TABLE allreduce_check (
  params INTEGER,                              -- given
  params_implied REAL,                         -- as many as those bytes are
  sharded INTEGER,                             -- 1: by ReduceScatter and AllGather
  bytes_per_step REAL, calls_per_step REAL,    -- of AllReduce, ReduceScatter and AllGather; S
  ratio_to_params REAL,
  sync TEXT,                                   -- none, less, once, more, redundant
  expected_ns INTEGER,                         -- of a step, of the parameters or else the bytes: by a
                                               -- ring, or two levels where collective_stat says so
  measured_ns INTEGER,                         -- transfers
  tiny_calls_per_step REAL,                    -- below 256 KiB
  why TEXT                                     -- something of this is NULL
);

-- Ranks beside each other, for each communicator whose collectives are barriers. Only the spread compares
-- clocks.
CREATE TABLE skew (
  comm TEXT PRIMARY KEY,
  steps INTEGER,                               -- that count, and in which work between collectives is known
  lost_gpu_ns INTEGER,                         -- sum of all ranks' waits
  spread_p50_ns INTEGER,                       -- between first and last start
  clock_error_ns INTEGER,                      -- of a difference between two ranks' times
  mirror_disagreement REAL,                    -- of lateness and waits; above 0.2 something else decides
  straggler_rank INTEGER,                      -- of the communicator
  time_saved_per_step_ns INTEGER,              -- if it were like the others; without a least: at most
  p_value REAL,
  cause TEXT,                                  -- input, host, copy, compute, other_work (compute, in kernels
                                               -- that the others do not run), start_delay, wait, clocks,
                                               -- unattributed
  cause_share REAL,                            -- of its lateness
  why TEXT,                                    -- something of this is NULL
  least_saved_per_step_ns INTEGER,             -- NULL: how far hosts would let them come is not known
  most_saved_per_step_ns INTEGER,
  first_collectives INTEGER,                   -- all of this but spread and clock error is of the first so
                                               -- many; NULL: of all
  of_collectives INTEGER,                      -- of so many
  suspect_rank INTEGER,                        -- has most own work in all steps, too few to be no chance
  needed_steps INTEGER                         -- for that
);
CREATE TABLE skew_rank (
  comm TEXT, comm_rank INTEGER, rank_id INTEGER,
  saved_ns INTEGER,                            -- at most, without it
  largest_steps INTEGER,                       -- in which it alone had the most own work
  p_value REAL, late_ns INTEGER, wait_ns INTEGER, own_work_ns INTEGER,
  PRIMARY KEY (comm, comm_rank)
);
-- Ranks that were late for part of the run, in windows of 50 steps.
CREATE TABLE straggler_window (
  comm TEXT, first_step INTEGER, last_step INTEGER, comm_rank INTEGER, saved_ns INTEGER, p_value REAL,
  PRIMARY KEY (comm, first_step)
);
-- What to add to a host's times to have those of the first trace's host: in [low, high], likely point. NULL:
-- they never met in a collective.
CREATE TABLE clock_offset (
  host TEXT PRIMARY KEY, to_host TEXT, point_ns INTEGER, low_ns INTEGER, high_ns INTEGER
);

-- GPUs beside each other, over all ranks; a row for each step that all have, by the first trace's numbers.
CREATE TABLE across (
  step INTEGER PRIMARY KEY, gpus INTEGER,      -- without steps: slices of the first process
  stagger_ns INTEGER,                          -- between first launches; NULL: also no steps, or too near
  stagger_idle_ns INTEGER,                     -- of all GPUs, idle before their own first launch, at most
  first_order TEXT,                            -- gpu_ids by first launch
  imbalance REAL,                              -- processes without steps: the run's, in row 0
  step_skew REAL,                              -- NULL: also without steps
  sequential_index REAL                        -- GPUs of several processes: of some steps only
);
-- A row if the first GPU computes longer than the others and does something that they do not.
CREATE TABLE first_gpu (
  gpu_id INTEGER, excess REAL,                 -- over the others' median, as a share
  only_kernels INTEGER, names TEXT,            -- that only it runs; the first five, a line each
  p2p_bytes INTEGER                            -- copied from GPU to GPU, where no other does so
);
