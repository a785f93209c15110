-- One trace: what one process did. Written by the shim, append-only (only ring_commit and the counts in meta
-- are replaced, rollup is added to, and what takes too much room goes). Times are nanoseconds: `enter_ns` is
-- CLOCK_MONOTONIC of this host and the row's id in every event table, so that a table is in time order and a
-- span of time is a range of rows; equal starts move by 1 ns. Everything else is relative to it. NULL means:
-- not recorded. Schema version: PRAGMA user_version; history in README.md.
PRAGMA user_version = 2;

-- Facts about this trace: uuid, gpushim_version (of the library), boot_id, host, job, clock (ticks are: tsc,
-- monotonic, test), started_mono_ns, started_real_ns, rings_survive (0: what was not yet here is lost with a
-- killed process), budget_ppm (GPUSHIM_BUDGET in millionths), max_bytes (GPUSHIM_MAX_MB; none: no limit),
-- min_free_bytes, samples_per_step (GPUSHIM_SAMPLES_PER_STEP), cuda_version (13000: that the driver is made
-- for), driver_version (580.65.06: of the kernel's part), nccl_version (22803; none: it was not loaded when
-- recording began), moved_starts (rows that began in the same ns as another of their table and stand 1 ns
-- later), names_left_out, functions_left_out (how often one had no place any more and is called "(other)"; of
-- a program's ranges at first only the number at their end is lost), shapes_left_out (launches whose geometry
-- is not recorded), graphs_left_out (states of graphs without a row), graphs_assumed (updates of graphs that
-- were not looked at, to spare the program: kernels and bytes in them are taken to be those before; none: 0),
-- series_left_out (how often a series was not told apart from others), samples_left_out (rows that say how
-- things were, for which there was no room), unknown_abi (calls whose address was asked for in a version of
-- CUDA that is newer than what is known here, and was handed out as it is: what goes through it is not seen;
-- none: not counted), untimed_programmatic (operations without device times because an event beside them
-- would keep programmatic launches from overlapping; none: 0), untimed_measured (operations without device
-- times because their thread was measuring with events of its own; none: 0), ended (exit: the process has,
-- and its rings are empty; recovered: from its rings, after it was killed; no: it still runs, or what came
-- last is lost; none: not told).
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- The process: one row.
CREATE TABLE process (
  pid INTEGER NOT NULL,
  parent_pid INTEGER,
  start_ticks INTEGER,       -- /proc/<pid>/stat field 22: tells a reused pid
  executable TEXT,           -- its file name, no arguments
  rank INTEGER,              -- of the whole job, as the launcher's environment says; NULL: unknown
  local_rank INTEGER,
  world_size INTEGER,
  run_key TEXT,              -- same for all processes of a run: launcher's run id, job id, or parent process
  restart INTEGER,           -- how often the launcher has started it again
  tag TEXT                   -- GPUSHIM_TAG
);

-- The fixed list of performance variables that were set when tracing began.
CREATE TABLE environment (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Threads that made recorded calls.
CREATE TABLE thread (id INTEGER PRIMARY KEY, tid INTEGER NOT NULL, name TEXT, first_ns INTEGER NOT NULL);

-- Devices as the driver showed them to this process.
CREATE TABLE device (
  id INTEGER PRIMARY KEY,    -- ordinal in this process
  uuid TEXT,                 -- GPU-xxxxxxxx-…
  name TEXT,
  memory_bytes INTEGER,
  pci TEXT,
  multiprocessors INTEGER,   -- that it has for this process
  compute_capability TEXT    -- 9.0
);

-- Every object by its life: the same handle value is used again and again.
CREATE TABLE handle (
  id INTEGER PRIMARY KEY,
  -- context, stream, event, module, library, function, kernel, graph, exec, pool, array, communicator
  kind TEXT NOT NULL,
  handle INTEGER NOT NULL,   -- the driver's value
  born_ns INTEGER,           -- when the call that made it returned; NULL: it was there when it was first seen
  died_ns INTEGER,           -- when the call that ended it was entered; NULL: see handle_end, else it lives
  parent_id INTEGER,         -- handle.id of what it was made in or from
  extra INTEGER,             -- by kind: device of a context, flags of a stream or event
  name_id INTEGER            -- NULL: see handle_name, else it has none
);

-- What became of handles after their rows were written.
CREATE TABLE handle_end (handle_id INTEGER PRIMARY KEY, died_ns INTEGER NOT NULL);
CREATE TABLE handle_name (handle_id INTEGER PRIMARY KEY, name_id INTEGER NOT NULL);

-- Contexts that were some thread's current one.
CREATE TABLE context (
  id INTEGER PRIMARY KEY,    -- as threads carry it
  handle_id INTEGER,
  device_id INTEGER          -- NULL: not known
);

-- Streams, with the default ones of each context (and thread) as rows of their own.
CREATE TABLE stream (
  id INTEGER PRIMARY KEY,
  handle_id INTEGER,         -- NULL: a default stream
  context_id INTEGER,
  kind TEXT NOT NULL,        -- made, legacy, per_thread
  thread_id INTEGER,         -- of per_thread
  flags INTEGER,             -- as it was made with
  priority INTEGER
);

-- Texts, each once.
CREATE TABLE name (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL,        -- as the program gave it
  demangled TEXT             -- NULL: not a mangled name
);

-- Rows of the hook tables that occur in this trace.
CREATE TABLE api (id INTEGER PRIMARY KEY, name TEXT NOT NULL, base TEXT NOT NULL, kind TEXT NOT NULL);

-- What a launch looks like, each once: function, geometry and attributes.
CREATE TABLE shape (
  id INTEGER PRIMARY KEY,
  handle_id INTEGER,         -- of the function or kernel: it has the name; NULL: there were too many
  api_id INTEGER NOT NULL,
  grid_x INTEGER, grid_y INTEGER, grid_z INTEGER,
  block_x INTEGER, block_y INTEGER, block_z INTEGER,
  shared_bytes INTEGER,      -- dynamic shared memory
  cluster_x INTEGER, cluster_y INTEGER, cluster_z INTEGER,  -- NULL: no cluster
  -- bit n: launch attribute n of the driver API is set (2: cooperative); NULL: none
  attributes INTEGER
);

-- flags of all event tables: 1 captured into a graph, not executed; 2 the call failed; 4 unfinished: the
-- process ended inside the call (dur_ns NULL); 8 recovered after the process had died; 16 inferred link to
-- its group.
CREATE TABLE launch (
  enter_ns INTEGER PRIMARY KEY,
  dur_ns INTEGER,            -- of the call, on the host
  thread_id INTEGER,
  stream_id INTEGER,
  shape_id INTEGER,
  group_id INTEGER,          -- the NCCL call it belongs to: the same as collective.group_id
  flags INTEGER
);

CREATE TABLE copy (
  enter_ns INTEGER PRIMARY KEY,
  dur_ns INTEGER,
  thread_id INTEGER,
  stream_id INTEGER,
  api_id INTEGER,
  bytes INTEGER,
  direction INTEGER,         -- 1 h2d, 2 d2h, 3 d2d, 4 p2p, 5 h2h; 0 not known
  -- memory of source + 8 * target: 1 pageable, 2 pinned, 3 managed, 4 device, 5 array; 0 not known
  sides INTEGER,
  group_id INTEGER,
  flags INTEGER              -- 32: a form of the call that may block the host
);

CREATE TABLE memset (
  enter_ns INTEGER PRIMARY KEY, dur_ns INTEGER, thread_id INTEGER, stream_id INTEGER, api_id INTEGER,
  bytes INTEGER, group_id INTEGER, flags INTEGER
);

-- Calls that wait or ask. Polls of one object in a row are one row: `calls` of them took `dur_ns` in all.
CREATE TABLE sync (
  enter_ns INTEGER PRIMARY KEY,
  dur_ns INTEGER,
  thread_id INTEGER,
  api_id INTEGER,
  target_id INTEGER,         -- handle.id of the stream, event or context
  stream_id INTEGER,         -- where it is a stream
  calls INTEGER,
  group_id INTEGER,
  flags INTEGER
);

CREATE TABLE communicator (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL,         -- same in all ranks: hash of the unique id, or of the parent's with the split
  handle_id INTEGER,
  device_id INTEGER,
  rank INTEGER,
  ranks INTEGER,
  parent_id INTEGER
);

CREATE TABLE collective (
  enter_ns INTEGER PRIMARY KEY,
  dur_ns INTEGER,
  thread_id INTEGER,
  stream_id INTEGER,
  api_id INTEGER,
  communicator_id INTEGER,
  -- nth on its communicator; point-to-point: nth of (communicator, source, destination)
  seq INTEGER,
  count INTEGER,
  dtype INTEGER,             -- ncclDataType_t
  op INTEGER,                -- ncclRedOp_t; NULL: none
  peer INTEGER,              -- root or peer; NULL: none
  bytes INTEGER,             -- count * size of dtype
  group_id INTEGER,          -- number of the outermost NCCL call or group it is part of
  flags INTEGER
);

-- How far each communicator has counted: what a trace that is opened again goes on from. Replaced.
CREATE TABLE collective_seq (
  communicator_id INTEGER NOT NULL,
  peer INTEGER NOT NULL,     -- point-to-point: rank of the other one; -1: collectives
  sends INTEGER NOT NULL,    -- 1: to it
  seq INTEGER NOT NULL,
  PRIMARY KEY (communicator_id, peer, sends) ON CONFLICT REPLACE
) WITHOUT ROWID;

-- Graphs that were instantiated, with their child graphs' contents: a row for each state that they were made,
-- updated or launched in.
CREATE TABLE graph (
  id INTEGER PRIMARY KEY,
  handle_id INTEGER NOT NULL,  -- 0: of all for which there was no place
  kernels INTEGER, copies INTEGER, memsets INTEGER, other INTEGER,  -- nodes that are on; NULL: not recorded
  bytes INTEGER                                                     -- of the copies
);
-- The kernels in it by function: how often a launch of the graph runs each.
CREATE TABLE graph_kernel (graph_id INTEGER NOT NULL, handle_id INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (graph_id, handle_id)) WITHOUT ROWID;
CREATE TABLE graph_launch (
  enter_ns INTEGER PRIMARY KEY, dur_ns INTEGER, thread_id INTEGER, stream_id INTEGER, api_id INTEGER,
    graph_id INTEGER,
  flags INTEGER
);

-- Allocations, registrations and frees.
CREATE TABLE memory (
  enter_ns INTEGER PRIMARY KEY, dur_ns INTEGER, thread_id INTEGER, api_id INTEGER,
  address INTEGER, bytes INTEGER,  -- freed: negative, NULL where the size was not known
  kind INTEGER,                    -- 2 pinned, 3 managed, 4 device; 0: addresses for memory counted elsewhere
  context_id INTEGER,
  held_bytes INTEGER,              -- of this kind in this context, after it
  pool_id INTEGER,                 -- handle.id of the pool; NULL: none, or the device's own
  flags INTEGER,
  allocated_ns INTEGER             -- of a free: enter_ns of the allocation, before rows were moved
);

-- The most that was held at one time. Replaced.
CREATE TABLE memory_peak (
  context_id INTEGER NOT NULL,     -- 0: not known, or a pool's
  kind INTEGER NOT NULL,           -- as in memory
  pool_id INTEGER NOT NULL,        -- handle.id of the pool; 0: all of that kind in that context
  peak_bytes INTEGER NOT NULL,
  reached_ns INTEGER NOT NULL,     -- when the allocation that made it so much returned
  PRIMARY KEY (context_id, kind, pool_id) ON CONFLICT REPLACE
) WITHOUT ROWID;

-- Every other recorded call: life of objects, capture, graphs, events, waits, host functions.
CREATE TABLE call (
  enter_ns INTEGER PRIMARY KEY, dur_ns INTEGER, thread_id INTEGER, api_id INTEGER,
  target_id INTEGER, stream_id INTEGER, group_id INTEGER, flags INTEGER
);

-- What the program says of itself: steps and marks (gpushim_*, NVTX), ranges of NVTX, profiler start and
-- stop; and where recording was switched.
CREATE TABLE marker (
  enter_ns INTEGER PRIMARY KEY,
  thread_id INTEGER,
  -- mark, step, push, pop, range_start, range_end, category (a name for one), profiler_start, profiler_stop,
  -- rest (recording stops), resume; unfinished: a call of NVTX in which the process was killed
  kind TEXT NOT NULL,
  name_id INTEGER,           -- of a pop or range_end: that of its beginning, as are its category and payload
  value INTEGER,             -- samples of a step, depth of a push or pop, id of a range; NULL: not told
  domain_id INTEGER,         -- name.id of NVTX's domain; NULL: the default one
  category INTEGER,          -- NVTX's; its name is a marker of kind `category`; NULL: none
  payload REAL,              -- NVTX's; NULL: none
  dur_ns INTEGER,            -- of a pop or range_end: since its beginning; NULL: that was not recorded
  flags INTEGER
);
CREATE INDEX category_name ON marker (category) WHERE kind = 'category';

-- Ticks, CLOCK_MONOTONIC and CLOCK_REALTIME at the same moment.
CREATE TABLE clock (mono_ns INTEGER PRIMARY KEY, ticks INTEGER NOT NULL, real_ns INTEGER NOT NULL);

-- How far each ring is in the database: what makes recovery exact. Replaced with every transaction.
CREATE TABLE ring_commit (
  ring_id INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,      -- slots below this are here, but for those in `open`
  open BLOB,                 -- their numbers, 8 bytes each
  annex INTEGER NOT NULL,    -- how many of the slots are no events: texts, second slots, changes of thread
  polls INTEGER NOT NULL,    -- queries that share the slot of another
  watermark_ns INTEGER NOT NULL  -- no later row starts before this, but for calls that were open
);

-- Events that are not here, by reason, as counted when they were lost: full, no_ring, writer_down,
-- reader (somebody kept the trace open, so that it could not be written), disk (too little of it was free),
-- size (the trace is as large as it may be, and nothing in it could go any more).
-- Cumulative per ring: the newest row counts. Ring -1: counted by the writer, which had no place for them.
CREATE TABLE "drop" (ring_id INTEGER NOT NULL, reason TEXT NOT NULL, seen_ns INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (ring_id, reason, seen_ns)) WITHOUT ROWID;

-- --- when operations ran ---------------------------------------------------------------------------------

-- Beside the row of the same enter_ns: when it ran on its device, as an offset from enter_ns. Operations
-- without a row here have host times only: they began after enter_ns and after the one before them in their
-- stream.
CREATE TABLE launch_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);
CREATE TABLE copy_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);
CREATE TABLE memset_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);
CREATE TABLE graph_launch_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);

-- Parts of a graph launch (graph_launch of the same enter_ns), where CUPTI told. The id of a node is CUPTI's,
-- the same in all launches of an executable graph.
CREATE TABLE graph_node_device (
  enter_ns INTEGER NOT NULL,       -- of the launch
  node INTEGER NOT NULL,
  start_offset_ns INTEGER NOT NULL,
  dur_ns INTEGER NOT NULL,
  PRIMARY KEY (enter_ns, start_offset_ns, node)
) WITHOUT ROWID;
-- What those nodes are: 0 kernel, with its name, 1 copy, 2 memset. Told of 65,536 at most.
CREATE TABLE graph_node (node INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT);

-- What CUPTI gave, where device times were asked for by it. Cumulative: the newest row counts. They come ever
-- more rarely, and at the end.
CREATE TABLE device_source (
  mono_ns INTEGER PRIMARY KEY,
  source TEXT NOT NULL,            -- cupti
  library TEXT,                    -- where it was found; NULL: nowhere
  version INTEGER,                 -- CUPTI_API_VERSION: 130001 is CUDA 13.0, 28 is 12.9
  -- why times are by events instead, or, where there are records, why there are none from then on; NULL: they
  -- are by CUPTI
  refused TEXT,
  error INTEGER,                   -- CUptiResult of what failed; NULL: nothing did
  records INTEGER,                 -- of operations, that came
  unclaimed INTEGER,               -- … whose call is not in the trace
  dropped INTEGER,                 -- that CUPTI had no room for: these operations have the host's times
  clock_error_ns INTEGER,          -- how far its clock may be from where we took it to be
  displaced INTEGER                -- of another clock, so left out: before their call, or in the future
);

-- How sure that is, each once: the truth lies in [start - start_low_ns, start + start_high_ns], likewise the
-- end. The steps between such bounds are rounded outwards.
CREATE TABLE level_error (
  id INTEGER PRIMARY KEY,
  level TEXT NOT NULL,             -- events, cupti
  -- 1: it waited in its queue: stamps; 0: an estimate in bounds. Of CUPTI's 1, waited or not
  queued INTEGER NOT NULL,
  start_low_ns INTEGER NOT NULL, start_high_ns INTEGER NOT NULL,
  end_low_ns INTEGER NOT NULL, end_high_ns INTEGER NOT NULL,
  -- the estimate is within this of the truth in 95 of 100 cases. Of CUPTI's this and the bounds are taken:
  -- NVIDIA publishes none
  likely_ns INTEGER NOT NULL,
  events INTEGER NOT NULL          -- how many events of ours it had
);

-- Spans in which operations got events, one row per device in use. Shares of such a span are of the
-- program as it ran with our events in it; `own_host_ns` and device_clock say how much they took.
CREATE TABLE window (
  enter_ns INTEGER NOT NULL,
  device_id INTEGER NOT NULL,
  dur_ns INTEGER NOT NULL,
  slot INTEGER,                    -- number of the 10 s of CLOCK_REALTIME it is in; NULL: a range asked for
  planned_ns INTEGER NOT NULL,     -- how long it was to be
  operations INTEGER NOT NULL,     -- launched in it
  timed INTEGER NOT NULL,          -- of them, with device times
  legacy_events INTEGER NOT NULL,  -- events of ours on the legacy stream, where they are a barrier
  own_host_ns INTEGER NOT NULL,    -- of the program's threads' time that our events took
  PRIMARY KEY (enter_ns, device_id)
) WITHOUT ROWID;

-- The device's clock against the host's, and what an event of ours takes. A row at least every 8 s.
CREATE TABLE device_clock (
  mono_ns INTEGER NOT NULL,
  context_id INTEGER NOT NULL,     -- context.id
  device_id INTEGER,
  error_ns INTEGER NOT NULL,       -- half of the interval that the clocks' difference is known to lie in
  drift_ppb INTEGER,               -- how much faster the device's goes; NULL: one row is no rate
  residual_ns INTEGER,             -- how far this row lies from where the last ones said it would
  event_ns INTEGER,                -- what an event takes on the device, between operations that wait
  record_ns INTEGER,               -- what recording one takes of the program's thread
  latency_ns INTEGER,              -- from a launch call's return to the start on an empty queue
  latency_spread_ns INTEGER,       -- how wide the range is in which 95 of 100 lie
  -- what its stamps are multiples of, which is in all bounds; 0: less than 32 ns; NULL: too few were seen
  grain_ns INTEGER,
  -- what is taken to lie from a stamp to the kernel behind it, and from a kernel to the stamp behind it
  gap_before_ns INTEGER, gap_after_ns INTEGER,
  -- 0: nobody has compared this device's stamps with what ran: a guess, and all bounds are estimates; 1: they
  -- are of calibrated.def or of GPUSHIM_STAMP_GAPS
  gaps_calibrated INTEGER,
  PRIMARY KEY (mono_ns, context_id)
) WITHOUT ROWID;

-- What we have cost, per second or longer. Beside the program's threads: writer_cpu_ns.
CREATE TABLE cost (
  mono_ns INTEGER PRIMARY KEY,     -- the end of the span
  span_ns INTEGER NOT NULL,
  events INTEGER NOT NULL,         -- recorded in it
  hook_ns INTEGER NOT NULL,        -- of the program's threads: recording them
  device_time_ns INTEGER NOT NULL, -- … events of ours
  host_state_ns INTEGER NOT NULL,  -- … reading CPU clocks
  busiest_ns INTEGER NOT NULL,     -- all of that, in the thread that paid most
  harvest_ns INTEGER NOT NULL,     -- of the writer: inside the driver
  writer_cpu_ns INTEGER NOT NULL   -- of the writer: all it took of a core
);

-- Why operations, contexts or all of them have no device times; context_id NULL: all of them.
CREATE TABLE refusal (
  mono_ns INTEGER NOT NULL, context_id INTEGER, api TEXT, error INTEGER, why TEXT NOT NULL
);

-- What we asked the driver or NVML for, and what is not known because they did not answer: each once.
CREATE TABLE unanswered (
  mono_ns INTEGER NOT NULL,
  asked TEXT NOT NULL,
  error INTEGER,                   -- the answer; NULL: it has no such function, or is not there
  unknown TEXT NOT NULL
);

-- --- what the host was doing -------------------------------------------------------------------------------

-- A thread between two calls, where that was long or the call before it blocked.
CREATE TABLE host_gap (
  enter_ns INTEGER PRIMARY KEY,    -- when the call before it returned
  dur_ns INTEGER NOT NULL,
  thread_id INTEGER NOT NULL,
  running_ns INTEGER,              -- on a CPU; the rest it was blocked or waited for one. NULL: not known
  runqueue_ns INTEGER,             -- of the rest: ready, but without a CPU. NULL: not sampled
  class TEXT,                      -- what it was blocked on, where a sample says so; NULL: not sampled
  samples INTEGER NOT NULL
);

-- --- what the devices showed -------------------------------------------------------------------------------

-- Samples of NVML. Keys and units: schema/README.md.
CREATE TABLE nvml (mono_ns INTEGER, device_id INTEGER, key TEXT, value REAL, PRIMARY KEY (mono_ns,
  device_id, key)) WITHOUT ROWID;
-- How devices are connected, once: peer NULL is the host.
CREATE TABLE topology (device_id INTEGER NOT NULL, peer_id INTEGER, link TEXT NOT NULL, links INTEGER,
  bytes_per_s INTEGER);

-- --- what had to go ---------------------------------------------------------------------------------------

-- Spans whose rows are gone: what happened in them is in the totals only, but for few rows that others still
-- need. With how many calls they stood for.
CREATE TABLE summarised (
  from_ns INTEGER PRIMARY KEY, until_ns INTEGER NOT NULL,
  recorded INTEGER NOT NULL, recovered INTEGER NOT NULL, unfinished INTEGER NOT NULL
);

-- Slots of 10 s of CLOCK_REALTIME that still have rows, and what decides which of them go first.
CREATE TABLE kept_slot (
  slot INTEGER PRIMARY KEY,        -- its number
  from_ns INTEGER NOT NULL,        -- CLOCK_MONOTONIC: its rows from here on, and those in its window
  rows INTEGER NOT NULL,           -- of tables that are in time order
  launches INTEGER NOT NULL,
  steps INTEGER NOT NULL,          -- that ended in it …
  step_ns INTEGER NOT NULL,        -- … and took so long in all
  first_handle INTEGER NOT NULL,   -- handle.id; 0: not known
  asked INTEGER NOT NULL           -- 1: a mark is in it, or gpushim.keep was there
);

-- --- totals -----------------------------------------------------------------------------------------------

-- What is summed up together: events of one table that are alike. Bounded in number: of those that came later
-- the stream is not told, of still later ones only kind, flags and API.
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,          -- the table of the events, or of their device times (launch_device, …)
  flags INTEGER NOT NULL,      -- as there, without 16
  api_id INTEGER,
  stream_id INTEGER,
  name_id INTEGER,             -- launch: of the function
  handle_id INTEGER,           -- launch: of the function, where it had no name yet
  graph_id INTEGER,            -- graph_launch
  communicator_id INTEGER,     -- collective
  target_kind TEXT,            -- sync: what was waited for (kinds of handle)
  direction INTEGER, sides INTEGER,            -- copy: as there
  dtype INTEGER, op INTEGER, bytes INTEGER     -- collective: as there
);

-- Sums of all events, from the first second on, whether their rows are here or not. Older seconds are put
-- together: by adding, so sums over all of them stay what they were.
CREATE TABLE rollup (
  second INTEGER NOT NULL,     -- of CLOCK_MONOTONIC: the events began at second * 1e9 or later …
  series_id INTEGER NOT NULL,
  seconds INTEGER NOT NULL,    -- … and before (second + seconds) * 1e9
  events INTEGER NOT NULL,     -- rows
  calls INTEGER NOT NULL,      -- queries: they share rows
  sum_ns INTEGER, min_ns INTEGER, max_ns INTEGER,  -- of rows' durations; NULL: none is recorded
  bytes INTEGER,               -- copy, memset, collective; memory: freed ones are negative
  histogram BLOB,              -- of calls' durations: README.md
  PRIMARY KEY (second, series_id)
) WITHOUT ROWID;
-- From before that second nothing is finer than so many seconds.
CREATE TABLE rollup_level (seconds INTEGER PRIMARY KEY, before_second INTEGER NOT NULL);

-- Steps that the program marked, a row each; older ones of a thread are put together. The times of single
-- ones are in v_step_total.
CREATE TABLE step_total (
  enter_ns INTEGER PRIMARY KEY,  -- the begin of the first; equal ones move by 1 ns
  thread_id INTEGER,
  source TEXT NOT NULL,        -- mark (gpushim_step: until the next one of the thread), range (NVTX)
  steps INTEGER NOT NULL,
  samples INTEGER,             -- NULL: not told
  sum_ns INTEGER, min_ns INTEGER, max_ns INTEGER,  -- NULL: until the thread's next row of this source
  histogram BLOB               -- NULL: one step
);
