-- What people read: names joined, times absolute. `time` is local-zone-free text of CLOCK_REALTIME, as near
-- as the trace's pairs of clocks say; *_ns are CLOCK_MONOTONIC or durations in nanoseconds. NULL means: not
-- recorded.

-- Offset from CLOCK_MONOTONIC to CLOCK_REALTIME at the trace's start. One row.
CREATE VIEW v_offset AS
SELECT (SELECT value FROM meta WHERE key = 'started_real_ns') -
       (SELECT value FROM meta WHERE key = 'started_mono_ns') AS real_minus_mono_ns;

-- What numbers in copies and collectives mean.
CREATE VIEW v_direction (id, name) AS VALUES (1, 'h2d'), (2, 'd2h'), (3, 'd2d'), (4, 'p2p'), (5, 'h2h');
CREATE VIEW v_side (id, name) AS
VALUES (1, 'pageable'), (2, 'pinned'), (3, 'managed'), (4, 'device'), (5, 'array');
CREATE VIEW v_dtype (id, name) AS
VALUES (0, 'int8'), (1, 'uint8'), (2, 'int32'), (3, 'uint32'), (4, 'int64'), (5, 'uint64'), (6, 'float16'),
  (7, 'float32'), (8, 'float64'), (9, 'bfloat16'), (10, 'float8e4m3'), (11, 'float8e5m2');
CREATE VIEW v_reduction (id, name) AS VALUES (0, 'sum'), (1, 'prod'), (2, 'max'), (3, 'min'), (4, 'avg');

-- Types of values (cudaDataType): their bits, and how many real operations one multiplication with its
-- addition is.
CREATE VIEW v_value_type (id, name, bits, operations) AS
VALUES (0, 'float32', 32, 2), (1, 'float64', 64, 2), (2, 'float16', 16, 2), (3, 'int8', 8, 2),
  (4, 'complex64', 64, 8), (5, 'complex128', 128, 8), (6, 'complex32', 32, 8), (8, 'uint8', 8, 2),
  (10, 'int32', 32, 2), (12, 'uint32', 32, 2), (14, 'bfloat16', 16, 2), (15, 'complex_bfloat16', 32, 8),
  (16, 'int4', 4, 2), (18, 'uint4', 4, 2), (28, 'float8e4m3', 8, 2), (29, 'float8e5m2', 8, 2),
  (30, 'float8e8m0', 8, 2), (31, 'float6e2m3', 6, 2), (32, 'float6e3m2', 6, 2), (33, 'float4e2m1', 4, 2);
-- Arithmetic of a product (cublasComputeType_t).
CREATE VIEW v_compute_type (id, name) AS
VALUES (64, 'float16'), (65, 'float16 pedantic'), (68, 'float32'), (69, 'float32 pedantic'), (70, 'float64'),
  (71, 'float64 pedantic'), (72, 'int32'), (73, 'int32 pedantic'), (74, 'float32 by float16'),
  (75, 'float32 by bfloat16'), (77, 'float32 by tfloat32'), (78, 'float32 by bfloat16x9');

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

-- Kernel launches. `dur_ns` and `exit_ns` are of the call on the host, device_* of the kernel on the device:
-- NULL where they are not recorded. The true start lies between start_low_ns and start_high_ns, so does the
-- end.
CREATE VIEW v_launch AS
SELECT l.enter_ns, l.dur_ns, l.enter_ns + l.dur_ns AS exit_ns,
  l.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, l.thread_id, st.stream, l.stream_id, st.device_id, st.device, st.context_id,
  sh.kernel, sh.symbol, sh.api,
  sh.grid_x, sh.grid_y, sh.grid_z, sh.block_x, sh.block_y, sh.block_z, sh.shared_bytes,
  sh.cluster_x, sh.cluster_y, sh.cluster_z, sh.attributes,
  l.shape_id, l.group_id,
  l.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns,
  -- host: it began after start_low_ns, more is not known; NULL: it did not run
  CASE WHEN may_have_run(l.flags) THEN coalesce(e.level, 'host') END AS level,
  e.queued,                                         -- 1: the times are stamps; 0: estimates
  CASE WHEN may_have_run(l.flags) THEN l.enter_ns + coalesce(d.start_offset_ns - e.start_low_ns, 0) END
    AS start_low_ns,
  l.enter_ns + d.start_offset_ns + e.start_high_ns AS start_high_ns,
  l.enter_ns + d.start_offset_ns + d.dur_ns - e.end_low_ns AS end_low_ns,
  l.enter_ns + d.start_offset_ns + d.dur_ns + e.end_high_ns AS end_high_ns,
  e.likely_ns AS likely_error_ns,                   -- of device_start_ns and the end, in 95 of 100 cases
  captured(l.flags) AS captured, failed(l.flags) AS failed, unfinished(l.flags) AS unfinished,
  recovered(l.flags) AS recovered, inferred(l.flags) AS inferred_group
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
  (SELECT name FROM v_direction WHERE id = c.direction) AS kind,
  (SELECT name FROM v_side WHERE id = c.sides & 7) AS source,
  (SELECT name FROM v_side WHERE id = c.sides >> 3) AS target,
  blocking(c.flags) AS blocking,                  -- a form of the call that may block the host
  CASE WHEN is_blocking(c.flags) AND c.dur_ns > 0 THEN c.bytes * 1e9 / c.dur_ns END AS bytes_per_s,
  c.group_id,
  c.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns,
  -- host: it began after start_low_ns, more is not known; NULL: it did not run
  CASE WHEN may_have_run(c.flags) THEN coalesce(e.level, 'host') END AS level,
  e.queued,                                         -- 1: the times are stamps; 0: estimates
  CASE WHEN may_have_run(c.flags) THEN c.enter_ns + coalesce(d.start_offset_ns - e.start_low_ns, 0) END
    AS start_low_ns,
  c.enter_ns + d.start_offset_ns + e.start_high_ns AS start_high_ns,
  c.enter_ns + d.start_offset_ns + d.dur_ns - e.end_low_ns AS end_low_ns,
  c.enter_ns + d.start_offset_ns + d.dur_ns + e.end_high_ns AS end_high_ns,
  e.likely_ns AS likely_error_ns,                   -- of device_start_ns and the end, in 95 of 100 cases
  captured(c.flags) AS captured, failed(c.flags) AS failed, unfinished(c.flags) AS unfinished,
    recovered(c.flags) AS recovered
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
  blocking(m.flags) AS blocking,
  m.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns,
  -- host: it began after start_low_ns, more is not known; NULL: it did not run
  CASE WHEN may_have_run(m.flags) THEN coalesce(e.level, 'host') END AS level,
  e.queued,                                         -- 1: the times are stamps; 0: estimates
  CASE WHEN may_have_run(m.flags) THEN m.enter_ns + coalesce(d.start_offset_ns - e.start_low_ns, 0) END
    AS start_low_ns,
  m.enter_ns + d.start_offset_ns + e.start_high_ns AS start_high_ns,
  m.enter_ns + d.start_offset_ns + d.dur_ns - e.end_low_ns AS end_low_ns,
  m.enter_ns + d.start_offset_ns + d.dur_ns + e.end_high_ns AS end_high_ns,
  e.likely_ns AS likely_error_ns,                   -- of device_start_ns and the end, in 95 of 100 cases
  captured(m.flags) AS captured, failed(m.flags) AS failed, unfinished(m.flags) AS unfinished,
    recovered(m.flags) AS recovered
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
  failed(s.flags) AS failed, unfinished(s.flags) AS unfinished, recovered(s.flags) AS recovered
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
  coalesce((SELECT name FROM v_dtype WHERE id = c.dtype), 'type ' || c.dtype) AS dtype,
  coalesce((SELECT name FROM v_reduction WHERE id = c.op), 'op ' || c.op) AS op,  -- NULL: it reduces nothing
  c.peer,                                           -- root or peer
  c.bytes,                                          -- count times the size of the type
  c.group_id, captured(c.flags) AS captured, failed(c.flags) AS failed, unfinished(c.flags) AS unfinished,
  recovered(c.flags) AS recovered
FROM collective c
LEFT JOIN communicator m ON m.id = c.communicator_id
LEFT JOIN api a ON a.id = c.api_id
LEFT JOIN v_stream st ON st.id = c.stream_id
LEFT JOIN thread t ON t.id = c.thread_id;

-- Matrix products of cuBLAS and cuBLASLt. `flops` and `bytes` are of the whole call: what the product needs,
-- not what its kernels did (they may read a matrix several times, and C, too).
CREATE VIEW v_gemm AS
SELECT g.enter_ns, g.dur_ns, g.enter_ns + g.dur_ns AS exit_ns,
  g.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, g.thread_id, p.name AS api, g.m, g.n, g.k, g.batch,
  coalesce(a.name, 'type ' || g.a_type) AS a_type, coalesce(b.name, 'type ' || g.b_type) AS b_type,
  coalesce(c.name, 'type ' || g.c_type) AS c_type,
  coalesce((SELECT name FROM v_compute_type WHERE id = g.compute), 'type ' || g.compute) AS compute,
  -- 2 m n k for each product, 8 m n k of complex numbers; NULL: not recorded, or a type that is not known
  CAST(a.operations AS REAL) * g.m * g.n * g.k * g.batch AS flops,
  -- A and B read once, C written once; NULL: also where products may share matrices
  (CAST(a.bits AS REAL) * g.m * g.k * g.a_count + CAST(b.bits AS REAL) * g.k * g.n * g.b_count
    + CAST(c.bits AS REAL) * g.m * g.n * g.batch) / 8 AS bytes,
  failed(g.flags) AS failed, recovered(g.flags) AS recovered
FROM gemm g
LEFT JOIN v_value_type a ON a.id = g.a_type
LEFT JOIN v_value_type b ON b.id = g.b_type
LEFT JOIN v_value_type c ON c.id = g.c_type
LEFT JOIN api p ON p.id = g.api_id
LEFT JOIN thread t ON t.id = g.thread_id;

-- What one launch of an executable graph runs: a row for each state it was in. Child graphs' nodes count,
-- nodes that are switched off do not. NULL: not recorded.
CREATE VIEW v_graph AS
SELECT g.id, h.handle, g.kernels, g.copies, g.memsets,
  g.other,                                          -- host functions, events, waits, allocations, empty nodes
  g.bytes,                                          -- of the copies
  h.born_ns, h.died_ns
FROM graph g LEFT JOIN v_handle h ON h.id = g.handle_id;

-- Launches of graphs, with what each ran. A captured one ran nothing: it became part of another graph.
CREATE VIEW v_graph_launch AS
SELECT l.enter_ns, l.dur_ns, l.enter_ns + l.dur_ns AS exit_ns,
  l.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, l.thread_id, st.stream, l.stream_id, st.device_id, st.device, l.graph_id, g.handle AS graph,
  g.kernels, g.copies, g.memsets, g.other, g.bytes,
  l.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns,
  -- of the whole launch, as in v_launch
  CASE WHEN may_have_run(l.flags) THEN coalesce(e.level, 'host') END AS level,
  e.queued,
  CASE WHEN may_have_run(l.flags) THEN l.enter_ns + coalesce(d.start_offset_ns - e.start_low_ns, 0) END
    AS start_low_ns,
  l.enter_ns + d.start_offset_ns + e.start_high_ns AS start_high_ns,
  l.enter_ns + d.start_offset_ns + d.dur_ns - e.end_low_ns AS end_low_ns,
  l.enter_ns + d.start_offset_ns + d.dur_ns + e.end_high_ns AS end_high_ns,
  e.likely_ns AS likely_error_ns,
  captured(l.flags) AS captured, failed(l.flags) AS failed, unfinished(l.flags) AS unfinished,
  recovered(l.flags) AS recovered
FROM graph_launch l
LEFT JOIN v_graph g ON g.id = l.graph_id
LEFT JOIN v_stream st ON st.id = l.stream_id
LEFT JOIN thread t ON t.id = l.thread_id
LEFT JOIN graph_launch_device d ON d.enter_ns = l.enter_ns
LEFT JOIN level_error e ON e.id = d.level_error_id;

-- What ran in a launch of a graph and when, where CUPTI told (GPUSHIM_DEVICE_TIME=cupti).
CREATE VIEW v_graph_node AS
SELECT d.enter_ns AS launch_ns,  -- v_graph_launch.enter_ns
  d.node, CASE n.kind WHEN 0 THEN 'kernel' WHEN 1 THEN 'copy' WHEN 2 THEN 'memset' END AS kind,
  n.name AS kernel,              -- mangled
  d.enter_ns + d.start_offset_ns AS device_start_ns, d.dur_ns AS device_dur_ns
FROM graph_node_device d LEFT JOIN graph_node n USING (node);

-- Allocations and frees (bytes below 0).
CREATE VIEW v_memory AS
SELECT m.enter_ns, m.dur_ns, m.enter_ns + m.dur_ns AS exit_ns,
  m.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, m.thread_id, a.name AS api, printf('0x%x', m.address) AS address, m.bytes,
  CASE m.kind WHEN 2 THEN 'pinned' WHEN 3 THEN 'managed' WHEN 4 THEN 'device' END AS kind,
  m.context_id, c.device_id, m.held_bytes, printf('0x%x', p.handle) AS pool,
  failed(m.flags) AS failed, unfinished(m.flags) AS unfinished, recovered(m.flags) AS recovered
FROM memory m
LEFT JOIN api a ON a.id = m.api_id
LEFT JOIN thread t ON t.id = m.thread_id
LEFT JOIN context c ON c.id = m.context_id
LEFT JOIN handle p ON p.id = m.pool_id;

-- Every other call that was recorded.
CREATE VIEW v_call AS
SELECT k.enter_ns, k.dur_ns, k.enter_ns + k.dur_ns AS exit_ns,
  k.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, k.thread_id, a.name AS api, a.kind, h.kind AS target_kind, h.handle AS target, h.name AS target_name,
  k.target_id, st.stream, k.stream_id, k.group_id,
  captured(k.flags) AS captured, failed(k.flags) AS failed, unfinished(k.flags) AS unfinished,
    recovered(k.flags) AS recovered,
  k.holds_id, k.node                                -- what a graph, or a node of it, holds from then on
FROM call k
LEFT JOIN api a ON a.id = k.api_id
LEFT JOIN v_handle h ON h.id = k.target_id
LEFT JOIN v_stream st ON st.id = k.stream_id
LEFT JOIN thread t ON t.id = k.thread_id;

-- Steps and marks; beginnings and ends of ranges, which v_range has in one row each.
CREATE VIEW v_marker AS
SELECT m.enter_ns, m.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, t.tid, m.thread_id,
  m.kind,
  n.text AS name, m.value, d.text AS domain,        -- NULL: NVTX's default one, or not NVTX
  m.category, m.payload,
  m.dur_ns                                          -- at an end: since the beginning
FROM marker m LEFT JOIN name n ON n.id = m.name_id LEFT JOIN name d ON d.id = m.domain_id
LEFT JOIN thread t ON t.id = m.thread_id;

-- Ranges of NVTX that have begun and not ended, as the table has them: of each depth of a thread in a domain
-- only the last push can be one.
CREATE VIEW v_open_range AS
SELECT start_ns, thread_id, kind, value, name_id, domain_id, category, payload
FROM (SELECT max(enter_ns) AS start_ns, thread_id, kind, value, name_id, domain_id, category, payload
      FROM marker WHERE kind IN ('push', 'pop', 'range_start', 'range_end')
      GROUP BY value, kind IN ('push', 'pop'),
        CASE WHEN kind IN ('push', 'pop') THEN thread_id END,
        CASE WHEN kind IN ('push', 'pop') THEN domain_id END)
WHERE kind IN ('push', 'range_start');

-- Ranges of NVTX, those that have ended by their end: the range of rows for a span of time is one of end_ns.
-- Where events were dropped, an end may stand with the beginning of another.
CREATE VIEW v_range AS
SELECT r.start_ns,
  r.dur_ns, r.end_ns,                               -- NULL: still open
  r.start_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, r.thread_id,                               -- where it ended, or is open
  CASE WHEN r.kind IN ('push', 'pop') THEN 'thread' ELSE 'process' END AS kind,
  CASE WHEN r.kind IN ('push', 'pop') THEN r.value END AS depth,
  n.text AS name, d.text AS domain,                 -- NULL: the default one
  r.category,
  (SELECT text FROM marker c JOIN name ON name.id = c.name_id
   WHERE c.kind = 'category' AND c.category = r.category AND c.domain_id IS r.domain_id
   ORDER BY c.enter_ns DESC LIMIT 1) AS category_name,
  r.payload
FROM (
  SELECT enter_ns - dur_ns AS start_ns, dur_ns, enter_ns AS end_ns, thread_id, kind, value, name_id,
    domain_id, category, payload
  FROM marker WHERE dur_ns IS NOT NULL
  UNION ALL SELECT start_ns, NULL, NULL, thread_id, kind, value, name_id, domain_id, category, payload
  FROM v_open_range) r
LEFT JOIN name n ON n.id = r.name_id
LEFT JOIN name d ON d.id = r.domain_id
LEFT JOIN thread t ON t.id = r.thread_id;

-- Windows in which device times were taken, by device. Figures of less than 0.99 coverage are marked, of less
-- than 0.90 refused.
CREATE VIEW v_window AS
SELECT w.enter_ns, w.dur_ns, w.enter_ns + w.dur_ns AS exit_ns,
  w.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  w.slot,                                           -- of 10 s; NULL: it was asked for
  w.planned_ns, w.device_id, d.name AS device, w.operations, w.timed,
  CASE WHEN w.operations > 0 THEN w.timed * 1.0 / w.operations END AS coverage,
  w.legacy_events,                                  -- of ours, where each is a barrier
  w.own_host_ns                                     -- what our events took of the program's threads
FROM window w LEFT JOIN device d ON d.id = w.device_id;

-- How well the device's clock is known, and what an event of ours takes.
CREATE VIEW v_device_clock AS
SELECT k.mono_ns, k.mono_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, k.context_id,
  coalesce(k.device_id, c.device_id) AS device_id, d.name AS device,
  k.error_ns, k.drift_ppb, k.residual_ns, k.event_ns, k.record_ns, k.latency_ns, k.latency_spread_ns,
  k.grain_ns, k.gap_before_ns, k.gap_after_ns, k.gaps_calibrated
FROM device_clock k
LEFT JOIN context c ON c.id = k.context_id
LEFT JOIN device d ON d.id = coalesce(k.device_id, c.device_id);

-- What we have cost, as shares of the time: own_share is that of the thread that paid most.
CREATE VIEW v_cost AS
SELECT mono_ns, mono_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, span_ns, events, hook_ns,
  device_time_ns, host_state_ns, busiest_ns, harvest_ns, writer_cpu_ns,
  CASE WHEN span_ns > 0 THEN busiest_ns * 1.0 / span_ns END AS own_share,
  CASE WHEN span_ns > 0 THEN writer_cpu_ns * 1.0 / span_ns END AS writer_share,
  CASE WHEN events > 0 THEN hook_ns * 1.0 / events END AS hook_ns_per_event
FROM cost;

-- What NVML showed of a device, one row for each sample: 0.2 s after the start, once
-- a second (or once in five where asking is slow), and at the end.
-- Columns and units: README.md. NULL: not recorded.
CREATE VIEW v_nvml AS
SELECT n.mono_ns, n.mono_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, n.device_id,
  d.name AS device, d.uuid AS device_uuid,
  max(value) FILTER (WHERE key = 'gpu_busy_percent') AS gpu_busy_percent,
  max(value) FILTER (WHERE key = 'memory_busy_percent') AS memory_busy_percent,
  max(value) FILTER (WHERE key = 'memory_used_bytes') AS memory_used_bytes,
  max(value) FILTER (WHERE key = 'memory_total_bytes') AS memory_total_bytes,
  max(value) FILTER (WHERE key = 'power_mw') AS power_mw,
  max(value) FILTER (WHERE key = 'energy_mj') AS energy_mj,
  max(value) FILTER (WHERE key = 'sm_mhz') AS sm_mhz,
  max(value) FILTER (WHERE key = 'memory_mhz') AS memory_mhz,
  max(value) FILTER (WHERE key = 'temperature_c') AS temperature_c,
  max(value) FILTER (WHERE key = 'memory_temperature_c') AS memory_temperature_c,
  max(value) FILTER (WHERE key = 'encoder_busy_percent') AS encoder_busy_percent,
  max(value) FILTER (WHERE key = 'decoder_busy_percent') AS decoder_busy_percent,
  max(value) FILTER (WHERE key = 'throttle_reasons') AS throttle_reasons,
  max(value) FILTER (WHERE key = 'pcie_sent_kb_per_s') AS pcie_sent_kb_per_s,
  max(value) FILTER (WHERE key = 'pcie_received_kb_per_s') AS pcie_received_kb_per_s,
  max(value) FILTER (WHERE key = 'nvlink_sent_kib') AS nvlink_sent_kib,
  max(value) FILTER (WHERE key = 'nvlink_received_kib') AS nvlink_received_kib,
  max(value) FILTER (WHERE key = 'performance_state') AS performance_state,
  max(value) FILTER (WHERE key = 'ecc_uncorrected') AS ecc_uncorrected,
  max(value) FILTER (WHERE key = 'power_limit_mw') AS power_limit_mw
FROM nvml n LEFT JOIN device d ON d.id = n.device_id
GROUP BY n.mono_ns, n.device_id;

-- How devices are connected to each other and to the host; a row for each way. Empty: not recorded.
CREATE VIEW v_topology AS
SELECT t.device_id, d.name AS device, d.uuid AS device_uuid,
  t.peer_id, p.uuid AS peer_uuid,                   -- NULL: the host
  t.link,                                           -- README.md
  t.links,                                          -- NVLinks, or lanes of PCIe
  t.bytes_per_s                                     -- each way, of all of them, before protocols
FROM topology t LEFT JOIN device d ON d.id = t.device_id LEFT JOIN device p ON p.id = t.peer_id;

-- Everything that ran on a device, whatever its table: calls that were captured, failed or never returned are
-- left out. Bounds as in v_launch.
CREATE VIEW v_operation AS
WITH o AS (
  SELECT 'launch' AS kind, (SELECT kernel FROM v_shape WHERE id = l.shape_id) AS name, l.enter_ns, l.dur_ns,
    l.thread_id, l.stream_id, l.group_id, d.start_offset_ns, d.dur_ns AS device_dur_ns, d.level_error_id
  FROM launch l LEFT JOIN launch_device d ON d.enter_ns = l.enter_ns WHERE ran(l.flags)
  UNION ALL
  SELECT 'copy', (SELECT name FROM v_direction WHERE id = c.direction), c.enter_ns, c.dur_ns,
    c.thread_id, c.stream_id, c.group_id, d.start_offset_ns, d.dur_ns, d.level_error_id
  FROM copy c LEFT JOIN copy_device d ON d.enter_ns = c.enter_ns WHERE ran(c.flags)
  UNION ALL
  SELECT 'memset', NULL, m.enter_ns, m.dur_ns,
    m.thread_id, m.stream_id, m.group_id, d.start_offset_ns, d.dur_ns, d.level_error_id
  FROM memset m LEFT JOIN memset_device d ON d.enter_ns = m.enter_ns WHERE ran(m.flags)
  UNION ALL
  SELECT 'graph_launch', 'graph ' || g.graph_id, g.enter_ns, g.dur_ns,
    g.thread_id, g.stream_id, NULL, d.start_offset_ns, d.dur_ns, d.level_error_id
  FROM graph_launch g LEFT JOIN graph_launch_device d ON d.enter_ns = g.enter_ns WHERE ran(g.flags))
SELECT o.kind,
  o.name,                                           -- kernel, direction of a copy, number of a graph
  o.enter_ns, o.dur_ns, o.enter_ns + o.dur_ns AS exit_ns,
  o.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  o.thread_id, st.stream, o.stream_id, st.device_id, st.device, o.group_id,
  o.enter_ns + o.start_offset_ns AS device_start_ns,
  o.device_dur_ns,
  o.enter_ns + o.start_offset_ns + o.device_dur_ns AS device_end_ns,
  coalesce(e.level, 'host') AS level,
  e.queued,                                         -- 1: the times are stamps; 0: estimates
  o.enter_ns + coalesce(o.start_offset_ns - e.start_low_ns, 0) AS start_low_ns,
  o.enter_ns + o.start_offset_ns + e.start_high_ns AS start_high_ns,
  o.enter_ns + o.start_offset_ns + o.device_dur_ns - e.end_low_ns AS end_low_ns,
  o.enter_ns + o.start_offset_ns + o.device_dur_ns + e.end_high_ns AS end_high_ns,
  e.likely_ns AS likely_error_ns
FROM o
LEFT JOIN v_stream st ON st.id = o.stream_id
LEFT JOIN level_error e ON e.id = o.level_error_id;

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
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM gemm
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM graph_launch
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM memory
UNION ALL SELECT enter_ns, dur_ns, thread_id, api_id, 1, flags FROM call
UNION ALL SELECT enter_ns, NULL, thread_id, NULL, 1, flags FROM marker;

-- What threads did between their calls, where that took long.
CREATE VIEW v_host_gap AS
SELECT g.enter_ns, g.dur_ns, g.enter_ns + g.dur_ns AS exit_ns,
  g.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, t.name AS thread, g.thread_id,
  g.running_ns,                                     -- by the thread's own CPU clock
  g.dur_ns - g.running_ns AS blocked_ns,            -- blocked, or ready without a CPU
  g.runqueue_ns,                                    -- of it without a CPU, by samples; NULL: too few
  g.class,                                          -- what it was blocked on, by samples; NULL: not sampled
  g.samples
FROM host_gap g LEFT JOIN thread t ON t.id = g.thread_id;

-- What NCCL told of its own work, where we were its profiler plug-in. The places of these names are NCCL's.
CREATE VIEW v_nccl_function (id, name) AS
VALUES (0, 'Broadcast'), (1, 'Reduce'), (2, 'AllGather'), (3, 'ReduceScatter'), (4, 'AllReduce'),
  (5, 'SendRecv'), (6, 'Send'), (7, 'Recv'), (8, 'AlltoAll'), (9, 'Scatter'), (10, 'Gather');
CREATE VIEW v_nccl_algorithm (id, name) AS
VALUES (0, 'TREE'), (1, 'RING'), (2, 'COLLNET_DIRECT'), (3, 'COLLNET_CHAIN'), (4, 'NVLS'), (5, 'NVLS_TREE'),
  (6, 'PAT');
CREATE VIEW v_nccl_protocol (id, name) AS VALUES (0, 'LL'), (1, 'LL128'), (2, 'SIMPLE');

-- An operation as NCCL did it. `communicator` and `seq` are those of v_collective; NULL: it was not found
-- there.
CREATE VIEW v_nccl_operation AS
SELECT o.enter_ns, o.dur_ns, o.enter_ns + o.dur_ns AS exit_ns,
  o.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, o.thread_id, o.operation, f.name AS function, a.name AS algorithm, p.name AS protocol,
  o.channels, o.count, o.peer, m.uid AS communicator, o.communicator_id, o.seq,
  o.nccl_communicator_id, c.interface, o.group_id
FROM nccl_operation o
LEFT JOIN v_nccl_function f ON f.id = o.function
LEFT JOIN v_nccl_algorithm a ON a.id = o.algorithm
LEFT JOIN v_nccl_protocol p ON p.id = o.protocol
LEFT JOIN communicator m ON m.id = o.communicator_id
LEFT JOIN nccl_communicator c ON c.id = o.nccl_communicator_id
LEFT JOIN thread t ON t.id = o.thread_id;

-- A channel's part of an operation's kernel. NULL in what is of the operation: its row is not known.
CREATE VIEW v_nccl_channel AS
SELECT n.enter_ns, n.dur_ns, n.enter_ns + n.dur_ns AS exit_ns,
  n.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  n.channel, n.gpu_ns, n.operation, f.name AS function, o.communicator_id, o.seq, n.nccl_communicator_id
FROM nccl_channel n
LEFT JOIN nccl_operation o ON o.operation = n.operation
LEFT JOIN v_nccl_function f ON f.id = o.function;

-- What a channel sent to or received from a peer. The waits are sums over steps, of which several are under
-- way at once: compare them with each other, not with dur_ns.
CREATE VIEW v_nccl_network AS
SELECT n.enter_ns, n.dur_ns, n.enter_ns + n.dur_ns AS exit_ns,
  n.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  n.channel, n.peer, CASE n.sends WHEN 1 THEN 'send' ELSE 'receive' END AS direction, n.is_foreign,
  n.steps, n.bytes, n.gpu_wait_ns, n.peer_wait_ns, n.network_wait_ns,
  n.operation, f.name AS function, o.communicator_id, o.seq, n.nccl_communicator_id
FROM nccl_network n
LEFT JOIN nccl_operation o ON o.operation = n.operation
LEFT JOIN v_nccl_function f ON f.id = o.function;

-- Where in its Python a thread was, by samples in its gaps: the innermost line.
CREATE VIEW v_python_sample AS
SELECT s.enter_ns, s.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns,
  t.tid, t.name AS thread, s.thread_id, c.file, c.function, f.line,
  s.frame_id,                                       -- v_python_stack.frame_id
  -- in place of running its code; NULL: not known
  CASE s.doing WHEN 0 THEN 'neither' WHEN 1 THEN 'waits for lock' WHEN 2 THEN 'collects garbage' END AS doing
FROM python_sample s JOIN python_frame f ON f.id = s.frame_id JOIN python_code c ON c.id = f.code_id
  LEFT JOIN thread t ON t.id = s.thread_id;

-- All lines of each such stack; depth 0 is the innermost.
CREATE VIEW v_python_stack AS
WITH RECURSIVE callers(frame_id, depth, id) AS (
  SELECT id, 0, id FROM python_frame
  UNION ALL
  SELECT c.frame_id, c.depth + 1, f.caller_id FROM callers c JOIN python_frame f ON f.id = c.id
  WHERE f.caller_id > 0 AND c.depth < 128)
SELECT s.frame_id, s.depth, c.file, c.function, f.line
FROM callers s JOIN python_frame f ON f.id = s.id JOIN python_code c ON c.id = f.code_id;

-- From which lines of Python a kernel was launched, by samples: for each kernel the lines that were seen
-- launching it, and in how many samples. Of a stack the innermost line of the program's own code, else the
-- innermost.
CREATE VIEW v_kernel_line AS
WITH RECURSIVE
  seen AS (
    SELECT p.frame_id, (SELECT CASE WHEN l.enter_ns + l.dur_ns >= p.enter_ns THEN l.shape_id END FROM launch l
      WHERE l.enter_ns <= p.enter_ns AND l.thread_id = p.thread_id
      ORDER BY l.enter_ns DESC LIMIT 1) AS shape_id
    FROM python_launch p),
  of_frame AS (SELECT shape_id, frame_id, count(*) AS samples FROM seen
    WHERE shape_id IS NOT NULL GROUP BY 1, 2),
  callers(frame_id, depth, id) AS (
    SELECT DISTINCT frame_id, 0, frame_id FROM of_frame
    UNION ALL
    SELECT c.frame_id, c.depth + 1, f.caller_id FROM callers c JOIN python_frame f ON f.id = c.id
    WHERE f.caller_id > 0 AND c.depth < 128),
  -- min(): the other columns are those of its row. Installed code counts as 1,000 deeper.
  line AS (
    SELECT c.frame_id, o.file, o.function, f.line, min(c.depth + CASE WHEN o.file LIKE '%/site-packages/%'
      OR o.file LIKE '%/dist-packages/%' OR o.file LIKE '%/lib/python3.%' OR o.file LIKE '<frozen%'
      THEN 1000 ELSE 0 END)
    FROM callers c JOIN python_frame f ON f.id = c.id JOIN python_code o ON o.id = f.code_id
    GROUP BY c.frame_id)
SELECT s.kernel, i.file, i.function, i.line, sum(o.samples) AS samples
FROM of_frame o JOIN line i ON i.frame_id = o.frame_id LEFT JOIN v_shape s ON s.id = o.shape_id
GROUP BY s.kernel, i.file, i.function, i.line;

-- What this file does not have yet: a row while its process runs, and after that process ended without a word
-- (killed, or by _exit); none once all is in.
CREATE VIEW v_outside AS
  SELECT
    CASE WHEN (SELECT value FROM meta WHERE key = 'rings_survive') = 1
      THEN 'rows of the last moments may still be outside of this file'
      ELSE 'if its process was killed, rows of the last moments are lost' END AS what,
    -- of the user who ran it, on the host where it ran; NULL: nowhere
    CASE WHEN (SELECT value FROM meta WHERE key = 'rings_survive') = 1
      THEN '/dev/shm/gpushim-<uid>/' || (SELECT value FROM meta WHERE key = 'uuid') END AS folder,
    'run `gpushim report` on this file to bring them in' AS try
  FROM meta WHERE key = 'ended' AND value = 'no';
