-- A rank summary: one trace, or several that were analysed together, as rows that do not grow with its calls.
-- A table has the name and the columns of the table or view of the run's database that its rows are from, and
-- a column that is left out there is left out here; so a metric's SELECT, asked of a summary, gets the
-- run's figure. Sums, counts and histograms of several summaries add up; gpu_id and rank_id are of one
-- summary. A step has a row of about 15 bytes, everything else has a size of its own. What needs single
-- calls has to go back to the files that raw_file names.

-- The files that this was made of.
CREATE TABLE raw_file (
  rank_id INTEGER PRIMARY KEY,
  path TEXT,                     -- absolute, on that rank's host
  bytes INTEGER                  -- when this was made; without its -wal
);

CREATE TABLE run (key TEXT PRIMARY KEY, value);
CREATE TABLE environment (rank_id INTEGER, name TEXT, value TEXT, PRIMARY KEY (rank_id, name));

CREATE TABLE rank (
  rank_id INTEGER PRIMARY KEY, rank INTEGER, world_size INTEGER, host TEXT, pid INTEGER, executable TEXT,
  uuid TEXT, started_real_ns INTEGER, first_ns INTEGER, last_ns INTEGER,
  produced INTEGER, recorded INTEGER, recovered INTEGER, unfinished INTEGER, dropped INTEGER, unknown INTEGER,
  level TEXT, clock_error_ns INTEGER, own_cost_share REAL, budget REAL, writer_cpu_share REAL,
  steps_source TEXT, steps_anchor TEXT, steps_confidence REAL, steps_why TEXT, micro_steps INTEGER,
  rows_gone INTEGER, marked_steps INTEGER
);
CREATE TABLE "drop" (rank_id INTEGER, reason TEXT, events INTEGER, PRIMARY KEY (rank_id, reason));

CREATE TABLE gpu (
  gpu_id INTEGER PRIMARY KEY, rank_id INTEGER, device_id INTEGER, uuid TEXT, name TEXT, simulated INTEGER,
  memory_total_bytes INTEGER, memory_peak_bytes INTEGER, run_ns INTEGER,
  busy_share REAL, busy_share_low REAL, busy_share_high REAL,
  busy_share_likely_low REAL, busy_share_likely_high REAL,
  level TEXT, coverage REAL, timed_share REAL, windows INTEGER, why TEXT,
  latency_ns INTEGER, latency_p95_ns INTEGER, kernel_gap_ns INTEGER, gaps_calibrated INTEGER, unused INTEGER
);

-- What ran on a GPU in the steps that count, and why it was idle: sums in ns.
CREATE TABLE v_gpu_total (
  gpu_id INTEGER PRIMARY KEY, basis TEXT, steps INTEGER, window_ns INTEGER, busy_ns INTEGER, idle_ns INTEGER,
  waiting_for_peer_ns INTEGER, productive_ns INTEGER, exposed_transfer_ns INTEGER, memory_ns INTEGER,
  compute_ns INTEGER, copy_ns INTEGER, comm_ns INTEGER, exposed_comm_ns INTEGER,
  busy_low_ns INTEGER, busy_high_ns INTEGER, busy_likely_low_ns INTEGER, busy_likely_high_ns INTEGER
);
CREATE TABLE v_gpu_idle (
  gpu_id INTEGER, cause TEXT, cause_group TEXT, ns INTEGER, drained_by_sync_ns INTEGER,
  PRIMARY KEY (gpu_id, cause)
) WITHOUT ROWID;
-- Of ranks that were analysed without their peers it is not known how long they waited: see `why`.
CREATE TABLE v_unknown_wait (gpu_id INTEGER, why TEXT);
CREATE TABLE v_gpu_bounds (gpu_id INTEGER PRIMARY KEY, hold INTEGER);

CREATE TABLE kernel (
  gpu_id INTEGER, name TEXT, launches INTEGER, graph_launches INTEGER, timed INTEGER, sum_ns INTEGER,
  min_ns INTEGER, max_ns INTEGER, small INTEGER, small_grid INTEGER, small_grid_ns INTEGER,
  family TEXT, precision TEXT, tensor_core TEXT, eligible INTEGER, comm_operation TEXT, comm_source TEXT,
  squares_ns2 REAL, PRIMARY KEY (gpu_id, name)
);
-- What kernels did in steps.
CREATE TABLE v_kernel_work (
  gpu_id INTEGER, name TEXT, executed REAL, timed INTEGER, timed_ns INTEGER, PRIMARY KEY (gpu_id, name)
);
CREATE TABLE gpu_peak (
  gpu_id INTEGER PRIMARY KEY, precision TEXT, precision_share REAL, peak_flops_per_s REAL, why TEXT
);
CREATE TABLE v_gpu_product (
  gpu_id INTEGER PRIMARY KEY, products INTEGER, flops_per_s REAL, matrix_ns REAL, covered_ns REAL,
  unjudged INTEGER, unknown_graphs INTEGER, why_of_graphs TEXT
);
CREATE TABLE launch_stat (
  gpu_id INTEGER, stream_id INTEGER, count INTEGER, api_sum_ns INTEGER, timed INTEGER, on_empty INTEGER,
  behind INTEGER, negative INTEGER, small INTEGER, small_ns INTEGER, full_queue INTEGER,
  api_p50_ns INTEGER, latency_p50_ns INTEGER, latency_p95_ns INTEGER, runway_p5_ns INTEGER,
  PRIMARY KEY (gpu_id, stream_id)
);
CREATE TABLE histogram (
  what TEXT, gpu_id INTEGER, stream_id INTEGER, bucket INTEGER, count INTEGER, sum_ns INTEGER,
  PRIMARY KEY (what, gpu_id, stream_id, bucket)
) WITHOUT ROWID;
-- The same of steps that count. Buckets are those of `histogram`.
CREATE TABLE step_histogram (
  rank_id INTEGER, bucket INTEGER, count INTEGER, sum_ns INTEGER, PRIMARY KEY (rank_id, bucket)
) WITHOUT ROWID;

-- Steps that count, for medians that do not depend on buckets.
CREATE TABLE v_counted_step (
  rank_id INTEGER, step INTEGER, dur_ns INTEGER, samples INTEGER, is_slice INTEGER,
  PRIMARY KEY (rank_id, step)
) WITHOUT ROWID;
-- Of a server: the iterations that count, and from each token to the next.
CREATE TABLE v_iteration (
  rank_id INTEGER, step INTEGER, kind TEXT, class INTEGER, graphs INTEGER, launches INTEGER, dur_ns INTEGER,
  PRIMARY KEY (rank_id, step)
) WITHOUT ROWID;
CREATE TABLE v_token_gap (
  rank_id INTEGER, step INTEGER, gap_ns INTEGER, PRIMARY KEY (rank_id, step)
) WITHOUT ROWID;
CREATE TABLE v_counted_comm_step (
  gpu_id INTEGER, step INTEGER, pack_ns INTEGER, unpack_ns INTEGER, start_delay_ns INTEGER,
  PRIMARY KEY (gpu_id, step)
) WITHOUT ROWID;

-- Ranks beside each other: of those that were analysed together, and of no others.
CREATE TABLE across (
  step INTEGER PRIMARY KEY, gpus INTEGER, stagger_ns INTEGER, imbalance REAL, step_skew REAL,
  sequential_index REAL
);
CREATE TABLE skew (
  comm TEXT PRIMARY KEY, steps INTEGER, lost_gpu_ns INTEGER, spread_p50_ns INTEGER, clock_error_ns INTEGER,
  straggler_rank INTEGER, time_saved_per_step_ns INTEGER, p_value REAL, cause TEXT, why TEXT
);
CREATE TABLE allreduce_check (
  params INTEGER, params_implied REAL, bytes_per_step REAL, calls_per_step REAL, ratio_to_params REAL,
  expected_ns INTEGER, measured_ns INTEGER, why TEXT
);
CREATE TABLE communicator (comm TEXT PRIMARY KEY, ranks INTEGER, seen INTEGER, parent TEXT, link TEXT);
CREATE TABLE collective_stat (
  comm TEXT, op TEXT, dtype TEXT, bytes INTEGER, ranks INTEGER, count INTEGER, in_steps INTEGER,
  timed INTEGER, complete INTEGER, transfer_sum_ns INTEGER, wait_sum_ns INTEGER, own_sum_ns INTEGER,
  UNIQUE (comm, op, dtype, bytes)
);

-- What may hold a GPU back.
CREATE TABLE nvml_stat (
  gpu_id INTEGER PRIMARY KEY, samples INTEGER, idle_samples INTEGER, throttled_samples INTEGER,
  free_sm_mhz REAL, throttled_sm_mhz REAL, power_w REAL, power_max_w REAL, temperature_max_c REAL,
  use_share REAL, memory_share_max REAL
);
CREATE TABLE gpu_energy (
  gpu_id INTEGER PRIMARY KEY, energy_j REAL, span_ns INTEGER, power_limit_w REAL, why TEXT,
  most_j REAL, most_span_ns INTEGER
);
CREATE TABLE throttle (
  gpu_id INTEGER, reason TEXT, samples INTEGER, sm_mhz REAL, PRIMARY KEY (gpu_id, reason)
);

-- What was advised, and figures that cannot all be true: who adds this one up has to say so.
CREATE TABLE finding (
  place INTEGER PRIMARY KEY, id TEXT, kind TEXT, title TEXT, gain_low_ns INTEGER, gain_high_ns INTEGER,
  confidence REAL
);
CREATE TABLE v_contradiction (name TEXT, sections TEXT, who TEXT, text TEXT);

-- The figures of this summary alone.
CREATE TABLE metric_definition (
  name TEXT PRIMARY KEY, version INTEGER, unit TEXT, kind TEXT, subject TEXT, words TEXT
);
CREATE TABLE metric (
  name TEXT, scope TEXT, id INTEGER, value REAL, unit TEXT, kind TEXT, definition INTEGER, level TEXT,
  coverage REAL, timed_share REAL, clock_error_ns INTEGER, why TEXT, PRIMARY KEY (name, scope, id)
);
CREATE TABLE metric_interval (
  name TEXT, scope TEXT, id INTEGER, low REAL, high REAL, likely_low REAL, likely_high REAL,
  PRIMARY KEY (name, scope, id)
);
