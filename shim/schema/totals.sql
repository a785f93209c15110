-- Totals: of all events from the first on, whether their rows are still here or not.

-- What is summed up together, with its names.
CREATE VIEW v_series AS
SELECT s.id, s.kind, a.name AS api,
  -- launch. '(other)': there were too many to tell
  CASE WHEN s.kind NOT IN ('launch', 'launch_device') THEN NULL
    WHEN s.name_id IS NULL AND s.handle_id IS NULL THEN '(other)'
    ELSE coalesce(n.demangled, n.text, h.name, '(name not known)') END AS kernel,
  coalesce(n.text, h.symbol) AS symbol,
  st.device_id, st.device, s.stream_id, st.stream,  -- NULL: none, or too many to tell
  s.graph_id,                                       -- graph_launch
  (SELECT name FROM v_direction WHERE id = s.direction) AS direction,  -- copy
  (SELECT name FROM v_side WHERE id = s.sides & 7) AS source,
  (SELECT name FROM v_side WHERE id = s.sides >> 3) AS target,
  blocking(s.flags) AS blocking,                  -- copy, memset
  s.target_kind,                                    -- sync: what was waited for
  m.uid AS communicator, m.ranks,                   -- collective
  coalesce((SELECT name FROM v_dtype WHERE id = s.dtype), 'type ' || s.dtype) AS dtype,
  coalesce((SELECT name FROM v_reduction WHERE id = s.op), 'op ' || s.op) AS op,
  s.bytes,                                          -- of each
  captured(s.flags) AS captured, failed(s.flags) AS failed, unfinished(s.flags) AS unfinished,
  recovered(s.flags) AS recovered
FROM series s
LEFT JOIN api a ON a.id = s.api_id
LEFT JOIN name n ON n.id = s.name_id
LEFT JOIN v_handle h ON h.id = s.handle_id
LEFT JOIN v_stream st ON st.id = s.stream_id
LEFT JOIN communicator m ON m.id = s.communicator_id;

-- Sums over all the time.
CREATE VIEW v_series_total AS
SELECT series_id, sum(events) AS events, sum(calls) AS calls, sum(sum_ns) AS sum_ns, min(min_ns) AS min_ns,
  max(max_ns) AS max_ns, sum(bytes) AS bytes
FROM rollup GROUP BY series_id;

-- Steps that the program marked. Of one that is told alone: how long it was, by the next of its thread where
-- it has no end of its own; NULL: there is none.
CREATE VIEW v_step_total AS
SELECT enter_ns, enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, thread_id, source, steps,
  samples, coalesce(sum_ns, until_ns - enter_ns) AS sum_ns, coalesce(min_ns, until_ns - enter_ns) AS min_ns,
  coalesce(max_ns, until_ns - enter_ns) AS max_ns
FROM (SELECT *, lead(enter_ns) OVER (PARTITION BY thread_id, source ORDER BY enter_ns) AS until_ns
      FROM step_total);

-- Calls by name: count, total and longest time on the host.
CREATE VIEW v_api_total AS
SELECT a.name AS api, a.base, a.kind, sum(t.calls) AS calls, sum(t.sum_ns) AS sum_ns, max(t.max_ns) AS max_ns,
  coalesce(sum(t.events) FILTER (WHERE is_failed(s.flags)), 0) AS failed
FROM series s JOIN v_series_total t ON t.series_id = s.id JOIN api a ON a.id = s.api_id
WHERE s.kind NOT LIKE '%_device'
GROUP BY a.id;

-- Where every event went: produced = recorded + recovered + dropped + unfinished + unknown. Captured calls
-- count. `produced` is what the rings say, the others are counted in the tables: unknown is 0 or something is
-- wrong.
CREATE VIEW v_ledger AS
WITH
  rows AS (
    SELECT sum(CASE WHEN was_recorded(flags) THEN calls ELSE 0 END) AS recorded,
      sum(CASE WHEN was_recovered(flags) THEN calls ELSE 0 END) AS recovered,
      sum(CASE WHEN is_unfinished(flags) THEN calls ELSE 0 END) AS unfinished
    FROM (
      SELECT 1 AS calls, flags FROM launch UNION ALL SELECT 1, flags FROM copy UNION ALL SELECT 1,
        flags FROM memset
      UNION ALL SELECT calls, flags FROM sync UNION ALL SELECT 1, flags FROM collective
      UNION ALL SELECT 1, flags FROM gemm
      UNION ALL SELECT 1, flags FROM graph_launch UNION ALL SELECT 1, flags FROM memory
      UNION ALL SELECT 1, flags FROM call UNION ALL SELECT 1, flags FROM marker)),
  rings AS (
    SELECT coalesce(sum(seq - annex + polls), 0) AS passed, coalesce(sum(length(open) / 8), 0) AS in_progress
    FROM ring_commit),
  lost AS (SELECT coalesce(sum(events), 0) AS dropped FROM v_drop),
  gone AS (SELECT sum(recorded) AS recorded, sum(recovered) AS recovered, sum(unfinished) AS unfinished
    FROM summarised),
  calls AS (
    SELECT coalesce(rows.recorded, 0) + coalesce(gone.recorded, 0) AS recorded,
      coalesce(rows.recovered, 0) + coalesce(gone.recovered, 0) AS recovered,
      coalesce(rows.unfinished, 0) + coalesce(gone.unfinished, 0) AS unfinished
    FROM rows, gone)
SELECT passed + dropped AS produced,
  recorded,
  recovered,
  dropped,
  unfinished + in_progress AS unfinished,
  passed - recorded - recovered - unfinished - in_progress AS unknown
FROM calls, rings, lost;

-- Captured, failed and unfinished calls are left out of these: nothing ran.
CREATE VIEW v_kernel_total AS
SELECT s.kernel, s.symbol, sum(t.events) FILTER (WHERE s.kind = 'launch') AS launches,
  sum(t.sum_ns) FILTER (WHERE s.kind = 'launch') AS call_sum_ns,
  min(t.min_ns) FILTER (WHERE s.kind = 'launch') AS call_min_ns,
  max(t.max_ns) FILTER (WHERE s.kind = 'launch') AS call_max_ns,
  sum(t.sum_ns) FILTER (WHERE s.kind = 'launch_device') AS device_sum_ns  -- NULL: no device times
FROM v_series s JOIN v_series_total t ON t.series_id = s.id
WHERE s.kind IN ('launch', 'launch_device') AND s.captured = 0 AND s.failed = 0 AND s.unfinished = 0
GROUP BY 1, 2;

-- How often each kernel ran: launched by itself, and as part of launched graphs. Launches of graphs whose
-- contents are not recorded (v_graph_launch: kernels IS NULL) are not in it.
CREATE VIEW v_kernel_executed AS
SELECT kernel, symbol, sum(launched) AS launched, sum(in_graphs) AS in_graphs,
  sum(launched) + sum(in_graphs) AS executed
FROM (
  SELECT kernel, symbol, launches AS launched, 0 AS in_graphs FROM v_kernel_total
  UNION ALL
  SELECT coalesce(h.name, '(name not known)'), h.symbol, 0, t.events * k.count
  FROM series s JOIN v_series_total t ON t.series_id = s.id JOIN graph_kernel k ON k.graph_id = s.graph_id
  LEFT JOIN v_handle h ON h.id = k.handle_id
  WHERE s.kind = 'graph_launch' AND ran(s.flags))
GROUP BY 1, 2;

CREATE VIEW v_copy_total AS
SELECT s.direction AS kind, s.device_id, s.device, s.stream_id, s.stream, s.source, s.target, s.blocking,
  sum(t.events) FILTER (WHERE s.kind = 'copy') AS copies,
  sum(t.bytes) FILTER (WHERE s.kind = 'copy') AS bytes,
  sum(t.sum_ns) FILTER (WHERE s.kind = 'copy') AS call_sum_ns,
  sum(t.sum_ns) FILTER (WHERE s.kind = 'copy_device') AS device_sum_ns
FROM v_series s JOIN v_series_total t ON t.series_id = s.id
WHERE s.kind IN ('copy', 'copy_device') AND s.captured = 0 AND s.failed = 0 AND s.unfinished = 0
GROUP BY s.direction, s.device_id, s.stream_id, s.source, s.target, s.blocking;

-- Waits, and questions whether something is done, by what was waited for. Questions about one object share a
-- row: `rows` are fewer than `calls`. Failed ones count, for the host was in them; unfinished ones do not.
CREATE VIEW v_sync_total AS
SELECT s.api, s.target_kind, sum(t.events) AS rows, sum(t.calls) AS calls, sum(t.sum_ns) AS sum_ns,
  max(t.max_ns) AS max_ns
FROM v_series s JOIN v_series_total t ON t.series_id = s.id
WHERE s.kind = 'sync' AND s.unfinished = 0
GROUP BY s.api, s.target_kind;

CREATE VIEW v_collective_total AS
SELECT s.communicator, s.ranks, s.api, s.dtype, s.op, s.bytes, sum(t.events) AS calls,
  sum(t.bytes) AS sum_bytes, sum(t.sum_ns) AS call_sum_ns
FROM v_series s JOIN v_series_total t ON t.series_id = s.id
WHERE s.kind = 'collective' AND s.captured = 0 AND s.failed = 0 AND s.unfinished = 0
GROUP BY s.communicator, s.api, s.dtype, s.op, s.bytes;

-- The most that was held at one time, by context and kind of memory.
CREATE VIEW v_memory_peak AS
SELECT nullif(m.context_id, 0) AS context_id, c.device_id, d.name AS device,
  CASE m.kind WHEN 2 THEN 'pinned' WHEN 3 THEN 'managed' WHEN 4 THEN 'device' END AS kind,
  m.peak_bytes, d.memory_bytes AS device_bytes, m.reached_ns
FROM memory_peak m
LEFT JOIN context c ON c.id = m.context_id
LEFT JOIN device d ON d.id = c.device_id
WHERE m.pool_id = 0;

-- Allocations of device memory for which there was none left: the newest 100. What was free then is not
-- recorded: at most device_bytes - held_bytes, less what other processes and the driver had.
CREATE VIEW v_failed_allocation AS
SELECT f.nth, f.enter_ns, f.enter_ns + (SELECT real_minus_mono_ns FROM v_offset) AS real_ns, t.tid,
  f.thread_id, a.name AS api, f.bytes, f.context_id, c.device_id, d.name AS device, f.held_bytes,
  d.memory_bytes AS device_bytes
FROM failed_allocation f
LEFT JOIN api a ON a.id = f.api_id
LEFT JOIN thread t ON t.id = f.thread_id
LEFT JOIN context c ON c.id = f.context_id
LEFT JOIN device d ON d.id = c.device_id;

-- The most that was held at one time from each pool that the program made.
CREATE VIEW v_pool_peak AS SELECT pool_id, peak_bytes FROM memory_peak WHERE pool_id <> 0;
