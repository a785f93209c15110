-- Collectives that ran inside graphs which have the times of all they hold only: these count as compute.
CREATE VIEW v_hidden_collectives AS
SELECT k.gpu_id, sum(k.graph_launches) AS kernels
FROM kernel k
WHERE k.graph_launches > 0 AND coalesce(k.comm_source, 'none') <> 'none'
  AND EXISTS (SELECT 1 FROM activity a WHERE a.gpu_id = k.gpu_id AND a.classes & 256 > 0)
GROUP BY k.gpu_id;

-- What a server's iterations are and why its GPUs were idle in them. Empty where no program serves.

-- Iterations that count.
CREATE VIEW v_iteration AS
SELECT i.rank_id, i.step, i.kind, i.class, i.graphs, i.launches, c.begin_ns, c.dur_ns,
  coalesce(s.has_load, 0) AS loads,      -- code was loaded in it
  c.number
FROM iteration i JOIN v_counted_step c ON c.rank_id = i.rank_id AND c.step = i.step
  JOIN step s ON s.rank_id = i.rank_id AND s.step = i.step;

-- Idle time of each of them by cause, with what the host does between two iterations usually (the median over
-- those that were timed, of all GPUs).
CREATE VIEW v_iteration_gap AS
WITH host AS (
  SELECT u.gpu_id, u.rank_id, v.step,
    coalesce((SELECT sum(p.ns) FROM gap p JOIN idle_cause c ON c.cause = p.cause
              WHERE p.gpu_id = u.gpu_id AND p.step = v.step AND c.cause_group IN ('host', 'input')), 0) AS ns
  FROM v_iteration v JOIN gpu u ON u.rank_id = v.rank_id
    JOIN gpu_step t ON t.gpu_id = u.gpu_id AND t.step = v.step),
placed AS (SELECT ns, row_number() OVER (ORDER BY ns) AS place, count(*) OVER () AS iterations FROM host),
usual AS (SELECT min(CASE WHEN place * 2 >= iterations THEN ns END) AS ns FROM placed)
SELECT u.gpu_id, v.rank_id, v.step, v.kind, v.graphs, v.loads, p.cause, c.cause_group, p.ns,
  p.longest_ns, p.pieces,
  (SELECT ns FROM usual) AS usual_host_ns
FROM v_iteration v JOIN gpu u ON u.rank_id = v.rank_id
  JOIN gap p ON p.gpu_id = u.gpu_id AND p.step = v.step
  LEFT JOIN idle_cause c ON c.cause = p.cause;

-- The same by what a server does.
-- no_request: the launching thread was off its CPU for 8 times as long as it usually needs between two
-- iterations, and a millisecond (inferred: a server that has something to do does not sleep). Where the
-- program marks its requests: the host's time, as far as no request was open.
-- compiling: the host is as slow, in an iteration that loads code: it makes that code, or looks for the best
-- way to compute something of a new shape.
-- graph_update: the host captures, instantiates, updates or destroys graphs, however long that takes.
-- graph_miss, eager_decode: launches of a decode that has no graph, where most have one, and where most have
-- none; with the host's many short times between them, which are in the iteration.
CREATE VIEW v_serving_idle AS
WITH graphs AS (
  SELECT rank_id,
    CASE WHEN sum(CASE WHEN graphs > 0 THEN 1 ELSE 0 END) * 2 > count(*) THEN 1 ELSE 0 END AS usual
  FROM v_iteration WHERE kind IN ('decode', 'mixed') GROUP BY rank_id),
told AS (
  SELECT g.*, CASE WHEN g.cause_group = 'launch' OR g.cause IN ('framework', 'python')
      OR (g.cause_group IN ('host', 'input') AND g.graphs = 0 AND g.pieces >= 10 AND g.ns >= 4 * g.longest_ns)
    THEN 1 ELSE 0 END AS launches
  FROM v_iteration_gap g),
-- ns of the host that may be for want of requests, the longest first
hosts AS (
  SELECT t.*, CASE WHEN t.launches = 0 AND t.cause_group IN ('host', 'input')
      AND t.cause NOT IN ('graph_update', 'alloc_or_load') THEN t.ns ELSE 0 END AS host_ns
  FROM told t),
split AS (
  SELECT h.*, q.ns AS marked_ns,
    coalesce(max(0, min(h.host_ns, q.ns + h.host_ns - sum(h.host_ns) OVER (PARTITION BY h.gpu_id, h.step
      ORDER BY h.host_ns DESC, h.cause ROWS UNBOUNDED PRECEDING))), 0) AS quiet_ns
  FROM hosts h LEFT JOIN quiet q ON q.rank_id = h.rank_id AND q.step = h.step)
SELECT gpu_id, rank_id, step, kind, 'no_request' AS why, quiet_ns AS ns FROM split WHERE quiet_ns > 0
UNION ALL
SELECT g.gpu_id, g.rank_id, g.step, g.kind,
  CASE
    WHEN g.cause = 'graph_update' THEN 'graph_update'
    WHEN g.marked_ns IS NULL AND g.cause IN ('host_blocked', 'input_wait')
      AND g.longest_ns >= 8 * g.usual_host_ns AND g.longest_ns >= 1000000 THEN 'no_request'
    WHEN g.loads = 1 AND g.cause_group IN ('host', 'input') AND g.longest_ns >= 8 * g.usual_host_ns
      AND g.longest_ns >= 1000000 THEN 'compiling'
    WHEN g.cause = 'sync_other_gpu' THEN 'waiting'
    WHEN g.cause_group = 'sync' THEN 'read_back'
    WHEN g.cause = 'alloc_or_load' THEN 'allocation'
    WHEN g.launches = 1 AND g.graphs = 0 AND g.kind IN ('decode', 'mixed')
      THEN CASE WHEN m.usual = 1 THEN 'graph_miss' ELSE 'eager_decode' END
    WHEN g.launches = 1 THEN 'launching'
    WHEN g.cause_group IN ('host', 'input') THEN 'between_iterations'
    WHEN g.cause_group = 'copy' THEN 'copies'
    WHEN g.cause = 'wait_other_gpu' THEN 'waiting'
    ELSE 'other'
  END AS why, g.ns - g.quiet_ns AS ns
FROM split g LEFT JOIN graphs m ON m.rank_id = g.rank_id
WHERE g.ns > g.quiet_ns OR g.ns = 0;

-- From one token of a sequence to its next: from a decode to the next one, with prefills between them,
-- without the time in which there was nothing to serve. Not behind a prompt before which all sequences ended.
CREATE VIEW v_token_gap AS
WITH quiet AS (
  SELECT v.rank_id, v.step, v.kind, v.begin_ns,
    sum(coalesce(n.ns, 0)) OVER (PARTITION BY v.rank_id ORDER BY v.step) - coalesce(n.ns, 0) AS quiet_ns,
    sum(CASE WHEN v.kind = 'prefill' THEN 1 ELSE 0 END) OVER (PARTITION BY v.rank_id ORDER BY v.step)
      AS prefills,
    -- after which no sequence of before goes on
    sum(CASE WHEN p.batches_end = 1 AND v.kind IN ('prefill', 'eager') THEN 1 ELSE 0 END)
      OVER (PARTITION BY v.rank_id ORDER BY v.step) AS batches
  FROM v_iteration v LEFT JOIN program p ON p.rank_id = v.rank_id LEFT JOIN (
    SELECT rank_id, step, max(ns) AS ns
    FROM (SELECT rank_id, step, gpu_id, sum(ns) AS ns FROM v_serving_idle WHERE why = 'no_request'
          GROUP BY rank_id, step, gpu_id)
    GROUP BY rank_id, step) n ON n.rank_id = v.rank_id AND n.step = v.step),
gaps AS (
  SELECT rank_id, step, lead(begin_ns) OVER w - begin_ns - (lead(quiet_ns) OVER w - quiet_ns) AS gap_ns,
    lead(prefills) OVER w - prefills AS prefills, lead(batches) OVER w - batches AS batches
  FROM quiet WHERE kind IN ('decode', 'mixed') WINDOW w AS (PARTITION BY rank_id ORDER BY step))
SELECT rank_id, step, CASE WHEN batches = 0 THEN gap_ns END AS gap_ns,
  prefills  -- between them
FROM gaps;
