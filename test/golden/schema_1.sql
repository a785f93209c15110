-- One trace: what one process did. Written by the shim, append-only (only ring_commit and the counts in meta
-- are replaced). Times are nanoseconds: `enter_ns` is CLOCK_MONOTONIC of this host and the row's id in every
-- event table, so that a table is in time order and a span of time is a range of rows; equal starts move by 1
-- ns. Everything else is relative to it. NULL means: not recorded. Schema version: PRAGMA user_version;
-- history in README.md.
PRAGMA user_version = 1;

-- Facts about this trace: uuid, boot_id, host, job, clock (ticks are: tsc, monotonic, test), started_mono_ns,
-- started_real_ns, rings_survive (0: what was not yet here is lost with a killed process), moved_starts (rows
-- that began in the same ns as another of their table and stand 1 ns later).
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
  pci TEXT
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
  handle_id INTEGER,         -- of the function or kernel: it has the name
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

-- Graphs that were instantiated: what they hold.
CREATE TABLE graph (
  id INTEGER PRIMARY KEY, handle_id INTEGER NOT NULL,
  kernels INTEGER, copies INTEGER, memsets INTEGER, other INTEGER   -- nodes; NULL: not recorded
);
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
  flags INTEGER
);

-- Every other recorded call: life of objects, capture, graphs, events, waits, host functions.
CREATE TABLE call (
  enter_ns INTEGER PRIMARY KEY, dur_ns INTEGER, thread_id INTEGER, api_id INTEGER,
  target_id INTEGER, stream_id INTEGER, group_id INTEGER, flags INTEGER
);

-- Steps and marks of the program (gpushim_step, gpushim_mark), profiler start and stop.
CREATE TABLE marker (
  enter_ns INTEGER PRIMARY KEY,
  thread_id INTEGER,
  kind TEXT NOT NULL,        -- mark, step, profiler_start, profiler_stop
  name_id INTEGER,           -- of a mark
  value INTEGER,             -- samples of a step; NULL: not told
  flags INTEGER
);

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

-- Events that are not here, by reason (full, no_ring, writer_down, reader), as counted when they were lost.
-- Cumulative per ring: the newest row counts.
CREATE TABLE "drop" (ring_id INTEGER NOT NULL, reason TEXT NOT NULL, seen_ns INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (ring_id, reason, seen_ns)) WITHOUT ROWID;

-- From here on: places of what is not recorded yet. The tables are empty; views join them where that makes
-- sense.

-- When an operation ran on its device, beside the row of the same enter_ns: offset from enter_ns, and how
-- sure.
CREATE TABLE level_error (id INTEGER PRIMARY KEY, level TEXT NOT NULL, low_ns INTEGER, high_ns INTEGER);
CREATE TABLE launch_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);
CREATE TABLE copy_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);
CREATE TABLE memset_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);
CREATE TABLE graph_launch_device (enter_ns INTEGER PRIMARY KEY, start_offset_ns INTEGER, dur_ns INTEGER,
  level_error_id INTEGER);
-- What a launching thread did between two calls.
CREATE TABLE host_gap (enter_ns INTEGER PRIMARY KEY, dur_ns INTEGER, thread_id INTEGER, running_ns INTEGER,
  class TEXT);
-- Spans in which device times were taken.
CREATE TABLE window (enter_ns INTEGER PRIMARY KEY, dur_ns INTEGER, device_id INTEGER, coverage REAL);
-- Totals per second, for spans whose rows are gone.
CREATE TABLE rollup (second INTEGER, kind TEXT, name_id INTEGER, stream_id INTEGER, events INTEGER,
  sum_ns INTEGER,
  min_ns INTEGER, max_ns INTEGER, bytes INTEGER, histogram BLOB, PRIMARY KEY (second, kind, name_id,
    stream_id)) WITHOUT ROWID;
-- Samples of the device's own counters.
CREATE TABLE nvml (mono_ns INTEGER, device_id INTEGER, key TEXT, value REAL, PRIMARY KEY (mono_ns,
  device_id, key)) WITHOUT ROWID;
-- What people read: names joined, times absolute. `time` is local-zone-free text of CLOCK_REALTIME, as near
-- as the trace's pairs of clocks say; *_ns are CLOCK_MONOTONIC or durations in nanoseconds. NULL means: not
-- recorded.

-- Offset from CLOCK_MONOTONIC to CLOCK_REALTIME at the trace's start. One row.
CREATE VIEW v_offset AS
SELECT (SELECT value FROM meta WHERE key = 'started_real_ns') -
       (SELECT value FROM meta WHERE key = 'started_mono_ns') AS real_minus_mono_ns;

-- Every object with its name and the end of its life.
CREATE VIEW v_handle AS
SELECT h.id,
  h.kind,
  printf('0x%x', h.handle) AS handle,
  h.born_ns,                                        -- NULL: before it was first seen
  coalesce(h.died_ns, e.died_ns) AS died_ns,        -- NULL: lives
  h.parent_id,
  coalesce(n.demangled, n.text) AS name,            -- readable
  n.text AS symbol                                  -- as the program gave it
FROM handle h
LEFT JOIN handle_end e ON e.handle_id = h.id
LEFT JOIN handle_name l ON l.handle_id = h.id
LEFT JOIN name n ON n.id = coalesce(h.name_id, l.name_id);

-- Contexts with their devices.
CREATE VIEW v_context AS
SELECT c.id, c.handle_id, printf('0x%x', h.handle) AS handle, c.device_id, d.name AS device,
  d.uuid AS device_uuid
FROM context c LEFT JOIN handle h ON h.id = c.handle_id LEFT JOIN device d ON d.id = c.device_id;

-- Streams with the device they are on. `stream` is what people call it: 'default', 'per-thread 3' or its
-- handle.
CREATE VIEW v_stream AS
SELECT s.id,
  CASE s.kind WHEN 'legacy' THEN 'default' WHEN 'per_thread' THEN 'per-thread ' || s.thread_id
    ELSE printf('0x%x', h.handle) END AS stream,
  s.kind, s.flags, s.priority, s.context_id, c.device_id, d.name AS device, d.uuid AS device_uuid,
  h.born_ns, coalesce(h.died_ns, e.died_ns) AS died_ns
FROM stream s
LEFT JOIN handle h ON h.id = s.handle_id
LEFT JOIN handle_end e ON e.handle_id = h.id
LEFT JOIN context c ON c.id = s.context_id
LEFT JOIN device d ON d.id = c.device_id;

-- What launches look like, with the kernel's name.
CREATE VIEW v_shape AS
SELECT s.id, s.handle_id, h.name AS kernel, h.symbol, a.name AS api,
  s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z,
  s.shared_bytes,                                   -- dynamic
  s.cluster_x, s.cluster_y, s.cluster_z, s.attributes
FROM shape s LEFT JOIN v_handle h ON h.id = s.handle_id LEFT JOIN api a ON a.id = s.api_id;

-- Kernel launches. `dur_ns` and `exit_ns` are of the call on the host; device_* are NULL until device times
-- are taken.
CREATE VIEW v_launch AS
SELECT l.enter_ns, l.dur_ns, l.enter_ns + l.dur_ns AS exit_ns,
  l.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, l.thread_id, st.stream, l.stream_id, st.device_id, st.device, st.context_id,
  sh.kernel, sh.symbol, sh.api,
  sh.grid_x, sh.grid_y, sh.grid_z, sh.block_x, sh.block_y, sh.block_z, sh.shared_bytes,
  sh.cluster_x, sh.cluster_y, sh.cluster_z, sh.attributes,
  l.shape_id, l.group_id,
  l.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns, e.level,
  l.flags & 1 AS captured, (l.flags & 2) / 2 AS failed, (l.flags & 4) / 4 AS unfinished,
  (l.flags & 8) / 8 AS recovered, (l.flags & 16) / 16 AS inferred_group
FROM launch l
LEFT JOIN v_shape sh ON sh.id = l.shape_id
LEFT JOIN v_stream st ON st.id = l.stream_id
LEFT JOIN thread t ON t.id = l.thread_id
LEFT JOIN launch_device d ON d.enter_ns = l.enter_ns
LEFT JOIN level_error e ON e.id = d.level_error_id;

-- Copies. `bytes_per_s` is over the host's call and so means something for blocking copies only.
CREATE VIEW v_copy AS
SELECT c.enter_ns, c.dur_ns, c.enter_ns + c.dur_ns AS exit_ns,
  c.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, c.thread_id, st.stream, c.stream_id, st.device_id, st.device, a.name AS api, c.bytes,
  CASE c.direction WHEN 1 THEN 'h2d' WHEN 2 THEN 'd2h' WHEN 3 THEN 'd2d' WHEN 4 THEN 'p2p' WHEN 5
    THEN 'h2h' END AS kind,
  CASE c.sides & 7 WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 3 THEN 'managed' WHEN 4 THEN 'device'
    WHEN 5 THEN 'array' END AS source,
  CASE c.sides >> 3 WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 3 THEN 'managed' WHEN 4 THEN 'device'
    WHEN 5 THEN 'array' END AS target,
  (c.flags & 32) / 32 AS blocking,                  -- a form of the call that may block the host
  CASE WHEN c.flags & 32 AND c.dur_ns > 0 THEN c.bytes * 1e9 / c.dur_ns END AS bytes_per_s,
  c.group_id,
  c.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns, e.level,
  c.flags & 1 AS captured, (c.flags & 2) / 2 AS failed, (c.flags & 4) / 4 AS unfinished,
    (c.flags & 8) / 8 AS recovered
FROM copy c
LEFT JOIN api a ON a.id = c.api_id
LEFT JOIN v_stream st ON st.id = c.stream_id
LEFT JOIN thread t ON t.id = c.thread_id
LEFT JOIN copy_device d ON d.enter_ns = c.enter_ns
LEFT JOIN level_error e ON e.id = d.level_error_id;

-- Memsets.
CREATE VIEW v_memset AS
SELECT m.enter_ns, m.dur_ns, m.enter_ns + m.dur_ns AS exit_ns,
  m.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, m.thread_id, st.stream, m.stream_id, st.device_id, st.device, a.name AS api, m.bytes, m.group_id,
  (m.flags & 32) / 32 AS blocking,
  m.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns, e.level,
  m.flags & 1 AS captured, (m.flags & 2) / 2 AS failed, (m.flags & 4) / 4 AS unfinished,
    (m.flags & 8) / 8 AS recovered
FROM memset m
LEFT JOIN api a ON a.id = m.api_id
LEFT JOIN v_stream st ON st.id = m.stream_id
LEFT JOIN thread t ON t.id = m.thread_id
LEFT JOIN memset_device d ON d.enter_ns = m.enter_ns
LEFT JOIN level_error e ON e.id = d.level_error_id;

-- Waits and queries. A row of queries stands for `calls` of one object in a row, which took `dur_ns` in all.
CREATE VIEW v_sync AS
SELECT s.enter_ns, s.dur_ns, s.enter_ns + s.dur_ns AS exit_ns,
  s.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, s.thread_id, a.name AS api,
  -- stream, event, context, communicator; NULL: current context or default stream
  h.kind AS target_kind,
  printf('0x%x', h.handle) AS target, s.target_id, st.stream, s.stream_id, s.calls, s.group_id,
  (s.flags & 2) / 2 AS failed, (s.flags & 4) / 4 AS unfinished, (s.flags & 8) / 8 AS recovered
FROM sync s
LEFT JOIN api a ON a.id = s.api_id
LEFT JOIN handle h ON h.id = s.target_id
LEFT JOIN v_stream st ON st.id = s.stream_id
LEFT JOIN thread t ON t.id = s.thread_id;

-- Communicators as this process has them.
CREATE VIEW v_communicator AS
SELECT c.id, c.uid, c.rank, c.ranks, c.device_id, d.name AS device, d.uuid AS device_uuid,
  printf('0x%x', h.handle) AS handle, h.born_ns, coalesce(h.died_ns, e.died_ns) AS died_ns,
    p.uid AS parent_uid
FROM communicator c
LEFT JOIN device d ON d.id = c.device_id
LEFT JOIN handle h ON h.id = c.handle_id
LEFT JOIN handle_end e ON e.handle_id = h.id
LEFT JOIN communicator p ON p.id = c.parent_id;

-- Collective and point-to-point calls of NCCL. (communicator, seq) names the same collective in all ranks.
CREATE VIEW v_collective AS
SELECT c.enter_ns, c.dur_ns, c.enter_ns + c.dur_ns AS exit_ns,
  c.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, c.thread_id, st.stream, c.stream_id, st.device_id, st.device, a.name AS api,
  m.uid AS communicator, m.rank, m.ranks, c.communicator_id, c.seq, c.count,
  CASE c.dtype WHEN 0 THEN 'int8' WHEN 1 THEN 'uint8' WHEN 2 THEN 'int32' WHEN 3 THEN 'uint32' WHEN 4
    THEN 'int64'
    WHEN 5 THEN 'uint64' WHEN 6 THEN 'float16' WHEN 7 THEN 'float32' WHEN 8 THEN 'float64' WHEN 9
      THEN 'bfloat16'
    WHEN 10 THEN 'float8e4m3' WHEN 11 THEN 'float8e5m2' ELSE 'type ' || c.dtype END AS dtype,
  CASE c.op WHEN 0 THEN 'sum' WHEN 1 THEN 'prod' WHEN 2 THEN 'max' WHEN 3 THEN 'min' WHEN 4 THEN 'avg'
    ELSE 'op ' || c.op END AS op,                   -- NULL: the call reduces nothing
  c.peer,                                           -- root or peer
  c.bytes,                                          -- count times the size of the type
  c.group_id, c.flags & 1 AS captured, (c.flags & 2) / 2 AS failed, (c.flags & 4) / 4 AS unfinished,
  (c.flags & 8) / 8 AS recovered
FROM collective c
LEFT JOIN communicator m ON m.id = c.communicator_id
LEFT JOIN api a ON a.id = c.api_id
LEFT JOIN v_stream st ON st.id = c.stream_id
LEFT JOIN thread t ON t.id = c.thread_id;

-- Instantiated graphs, and their launches.
CREATE VIEW v_graph AS
SELECT g.id, h.handle, g.kernels, g.copies, g.memsets, g.other, h.born_ns, h.died_ns
FROM graph g LEFT JOIN v_handle h ON h.id = g.handle_id;
CREATE VIEW v_graph_launch AS
SELECT l.enter_ns, l.dur_ns, l.enter_ns + l.dur_ns AS exit_ns,
  l.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, l.thread_id, st.stream, l.stream_id, st.device_id, st.device, l.graph_id, g.handle AS graph,
  g.kernels, g.copies, g.memsets, g.other,
  l.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns, e.level,
  (l.flags & 2) / 2 AS failed, (l.flags & 4) / 4 AS unfinished, (l.flags & 8) / 8 AS recovered
FROM graph_launch l
LEFT JOIN v_graph g ON g.id = l.graph_id
LEFT JOIN v_stream st ON st.id = l.stream_id
LEFT JOIN thread t ON t.id = l.thread_id
LEFT JOIN graph_launch_device d ON d.enter_ns = l.enter_ns
LEFT JOIN level_error e ON e.id = d.level_error_id;

-- Allocations and frees (bytes below 0).
CREATE VIEW v_memory AS
SELECT m.enter_ns, m.dur_ns, m.enter_ns + m.dur_ns AS exit_ns,
  m.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, m.thread_id, a.name AS api, printf('0x%x', m.address) AS address, m.bytes,
  CASE m.kind WHEN 2 THEN 'pinned' WHEN 3 THEN 'managed' WHEN 4 THEN 'device' END AS kind,
  m.context_id, c.device_id, m.held_bytes, printf('0x%x', p.handle) AS pool,
  (m.flags & 2) / 2 AS failed, (m.flags & 4) / 4 AS unfinished, (m.flags & 8) / 8 AS recovered
FROM memory m
LEFT JOIN api a ON a.id = m.api_id
LEFT JOIN thread t ON t.id = m.thread_id
LEFT JOIN context c ON c.id = m.context_id
LEFT JOIN handle p ON p.id = m.pool_id;

-- The most that was held at one time, by context and kind of memory.
CREATE VIEW v_memory_peak AS
SELECT m.context_id, c.device_id, d.name AS device,
  CASE m.kind WHEN 2 THEN 'pinned' WHEN 3 THEN 'managed' WHEN 4 THEN 'device' END AS kind,
  max(m.held_bytes) AS peak_bytes, d.memory_bytes AS device_bytes
FROM memory m
LEFT JOIN context c ON c.id = m.context_id
LEFT JOIN device d ON d.id = c.device_id
WHERE m.kind > 0 AND m.held_bytes IS NOT NULL
GROUP BY m.context_id, m.kind;

-- The most that was held at one time from each pool that the program made.
CREATE VIEW v_pool_peak AS
SELECT pool_id, max(held_bytes) AS peak_bytes
FROM (SELECT pool_id, sum(bytes) OVER (PARTITION BY pool_id ORDER BY enter_ns) AS held_bytes
      FROM memory WHERE pool_id IS NOT NULL)
GROUP BY pool_id;

-- Every other call that was recorded.
CREATE VIEW v_call AS
SELECT k.enter_ns, k.dur_ns, k.enter_ns + k.dur_ns AS exit_ns,
  k.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, k.thread_id, a.name AS api, a.kind, h.kind AS target_kind, h.handle AS target, h.name AS target_name,
  k.target_id, st.stream, k.stream_id, k.group_id,
  k.flags & 1 AS captured, (k.flags & 2) / 2 AS failed, (k.flags & 4) / 4 AS unfinished,
    (k.flags & 8) / 8 AS recovered
FROM call k
LEFT JOIN api a ON a.id = k.api_id
LEFT JOIN v_handle h ON h.id = k.target_id
LEFT JOIN v_stream st ON st.id = k.stream_id
LEFT JOIN thread t ON t.id = k.thread_id;

-- Steps and marks.
CREATE VIEW v_marker AS
SELECT m.enter_ns, m.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, t.tid, m.thread_id,
  m.kind,
  n.text AS name, m.value
FROM marker m LEFT JOIN name n ON n.id = m.name_id LEFT JOIN thread t ON t.id = m.thread_id;

-- What threads did between calls. Empty: not recorded yet.
CREATE VIEW v_host_gap AS
SELECT g.enter_ns, g.dur_ns, t.tid, g.thread_id, g.running_ns, g.dur_ns - g.running_ns AS blocked_ns, g.class
FROM host_gap g LEFT JOIN thread t ON t.id = g.thread_id;

-- Windows in which device times were taken. Empty: not recorded yet.
CREATE VIEW v_window AS
SELECT w.enter_ns, w.dur_ns, w.device_id, d.name AS device, w.coverage
FROM window w LEFT JOIN device d ON d.id = w.device_id;

-- The device's own counters. Empty: not recorded yet.
CREATE VIEW v_nvml AS
SELECT n.mono_ns, n.mono_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, n.device_id,
  d.name AS device, n.key, n.value
FROM nvml n LEFT JOIN device d ON d.id = n.device_id;

-- Losses by reason, over all rings.
CREATE VIEW v_drop AS
SELECT reason, sum(events) AS events, max(seen_ns) AS last_seen_ns
FROM (SELECT ring_id, reason, max(events) AS events, max(seen_ns) AS seen_ns FROM "drop" GROUP BY ring_id,
  reason)
GROUP BY reason;

-- Every recorded call, whatever its table: one row each, many in a row of queries.
CREATE VIEW v_all AS
SELECT enter_ns, dur_ns, thread_id, (SELECT api_id FROM shape WHERE id = shape_id) AS api_id, 1 AS calls,
  flags FROM launch
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM copy
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM memset
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, calls, flags FROM sync
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM collective
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM graph_launch
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM memory
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM call
UNION ALL SELECT enter_ns, NULL, thread_id, NULL, 1, flags FROM marker;

-- Calls by name: count, total and longest time on the host.
CREATE VIEW v_api_total AS
SELECT a.name AS api, a.base, a.kind, sum(v.calls) AS calls, sum(v.dur_ns) AS sum_ns, max(v.dur_ns) AS max_ns,
  sum((v.flags & 2) / 2) AS failed
FROM v_all v JOIN api a ON a.id = v.api_id
GROUP BY a.id;

-- Where every event went: produced = recorded + recovered + dropped + unfinished + unknown. Captured calls
-- count. `produced` is what the rings say, the others are counted in the tables: unknown is 0 or something is
-- wrong.
CREATE VIEW v_ledger AS
WITH
  rows AS (
    SELECT sum(CASE WHEN flags & 12 = 0 THEN calls ELSE 0 END) AS recorded,
      sum(CASE WHEN flags & 12 = 8 THEN calls ELSE 0 END) AS recovered,
      sum(CASE WHEN flags & 4 THEN calls ELSE 0 END) AS unfinished
    FROM (
      SELECT 1 AS calls, flags FROM launch UNION ALL SELECT 1, flags FROM copy UNION ALL SELECT 1,
        flags FROM memset
      UNION ALL SELECT calls, flags FROM sync UNION ALL SELECT 1, flags FROM collective
      UNION ALL SELECT 1, flags FROM graph_launch UNION ALL SELECT 1, flags FROM memory
      UNION ALL SELECT 1, flags FROM call UNION ALL SELECT 1, flags FROM marker)),
  rings AS (
    SELECT coalesce(sum(seq - annex + polls), 0) AS passed, coalesce(sum(length(open) / 8), 0) AS in_progress
    FROM ring_commit),
  lost AS (SELECT coalesce(sum(events), 0) AS dropped FROM v_drop)
SELECT passed + dropped AS produced,
  coalesce(recorded, 0) AS recorded,
  coalesce(recovered, 0) AS recovered,
  dropped,
  coalesce(unfinished, 0) + in_progress AS unfinished,
  passed - coalesce(recorded + recovered + unfinished, 0) - in_progress AS unknown
FROM rows, rings, lost;

-- Totals over rows and rollups. Captured, failed and unfinished calls are left out: nothing ran.
CREATE VIEW v_kernel_total AS
SELECT coalesce(kernel, '(name not known)') AS kernel, symbol, count(*) AS launches,
  sum(dur_ns) AS call_sum_ns,
  min(dur_ns) AS call_min_ns, max(dur_ns) AS call_max_ns,
  sum(device_dur_ns) AS device_sum_ns               -- NULL: no device times
FROM v_launch WHERE captured = 0 AND failed = 0 AND unfinished = 0
GROUP BY 1, 2;

CREATE VIEW v_copy_total AS
SELECT kind, device_id, device, stream_id, stream, source, target, blocking, count(*) AS copies,
  sum(bytes) AS bytes,
  sum(dur_ns) AS call_sum_ns, sum(device_dur_ns) AS device_sum_ns
FROM v_copy WHERE captured = 0 AND failed = 0 AND unfinished = 0
GROUP BY kind, device_id, stream_id, source, target, blocking;

CREATE VIEW v_sync_total AS
SELECT api, target_kind, count(*) AS rows, sum(calls) AS calls, sum(dur_ns) AS sum_ns, max(dur_ns) AS max_ns
FROM v_sync WHERE unfinished = 0
GROUP BY api, target_kind;

CREATE VIEW v_collective_total AS
SELECT communicator, ranks, api, dtype, op, bytes, count(*) AS calls, sum(bytes) AS sum_bytes,
  sum(dur_ns) AS call_sum_ns
FROM v_collective WHERE captured = 0 AND failed = 0 AND unfinished = 0
GROUP BY communicator, api, dtype, op, bytes;
