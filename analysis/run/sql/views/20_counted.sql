-- Which rows a figure is of: steps that count, and of each GPU those that were timed from begin to end.

-- Steps that count: no warm-up, not left out. is_slice: the run has no steps, this is a slice of it.
CREATE VIEW v_counted_step AS
SELECT s.rank_id, s.step, s.number, s.begin_ns, s.dur_ns, s.signature, s.samples,
  CASE WHEN coalesce(r.steps_source, 'none') = 'none' THEN 1 ELSE 0 END AS is_slice
FROM step s JOIN rank r ON r.rank_id = s.rank_id
WHERE coalesce(s.warm_up, 0) = 0 AND coalesce(s.left_out, 0) = 0;

-- Steps whose calls were recorded, warm-up and left-out ones, too: what totals of the run are divided by.
-- Others lie, if only in part, where the process rested (GPUSHIM_STEPS and its like).
CREATE VIEW v_recorded_step AS
SELECT s.rank_id, s.step, s.number, s.begin_ns, s.dur_ns, s.left_out, s.why,
  coalesce(s.why, '') = 'it updates no parameters: an evaluation, or the like' AS no_step
FROM step s
WHERE coalesce(s.left_out, 0) = 0 OR coalesce(s.why, '') <> 'not recorded, or not all of it';

-- Phases of 32 steps of one rank. beside: of forwards, those in which collectives were called, too. Such are
-- not of gradients.
CREATE VIEW v_phases_of_step AS
WITH some AS (
  SELECT rank_id, step FROM v_counted_step
  WHERE rank_id = (SELECT min(rank_id) FROM v_counted_step) ORDER BY step LIMIT 32)
SELECT s.step, count(iif(p.name = 'forward', 1, NULL)) AS forwards,
  count(iif(p.name = 'communication', 1, NULL)) AS reductions,
  count(iif(p.name = 'optimizer', 1, NULL)) AS updates,
  min(iif(p.name = 'communication', p.device_ns, NULL)) AS least_ns,
  max(iif(p.name = 'communication', p.device_ns, NULL)) AS most_ns,
  count(iif(p.name = 'forward' AND EXISTS (SELECT 1 FROM phase c
    WHERE c.rank_id = p.rank_id AND c.step = p.step AND c.name = 'communication'
      AND c.begin_ns < p.begin_ns + p.dur_ns AND c.begin_ns + c.dur_ns > p.begin_ns), 1, NULL)) AS beside
FROM some s LEFT JOIN phase p ON p.rank_id = s.rank_id AND p.step = s.step GROUP BY s.step;

-- Batches of a step, each of which has a forward and, behind it, collectives of its own that take about as
-- long as those of the others, and all of which one update follows: gradients are reduced for each, where
-- they could be added up first. A loss that is reduced takes next to nothing. No row: not so, or not told.
CREATE VIEW v_reduced_batches AS
SELECT batches FROM (
  SELECT min(forwards) AS batches,
    min(forwards) = max(forwards) AND min(forwards) > 1
      AND min(reductions = forwards AND updates = 1 AND beside = 0)
      AND 2 * sum(least_ns) >= sum(most_ns) AS are_alike
  FROM v_phases_of_step)
WHERE are_alike = 1;

-- GPUs of processes without steps that did next to nothing on any GPU, where other processes have steps: they
-- are no part of one, and in no mean of steps.
CREATE VIEW v_gpu_beside_steps AS
SELECT g.gpu_id, g.rank_id FROM gpu g JOIN rank r ON r.rank_id = g.rank_id
WHERE coalesce(r.steps_source, 'none') = 'none' AND EXISTS (SELECT 1 FROM v_counted_step WHERE is_slice = 0)
  AND NOT EXISTS (SELECT 1 FROM gpu o WHERE o.rank_id = g.rank_id
    AND coalesce(o.busy_share, o.busy_share_high, 1) >= 0.01);

-- How many steps there were. Where rows are gone `step` has a part of them: then those that were marked.
-- NULL: not known. What stands before the first mark or behind the last may be a step, too: `steps` has one
-- for both; `whole_steps`, which totals of the run are divided by, has those in which enough was launched.
-- An evaluation is no step, but what it launched is in totals: it counts there as so many steps as it is
-- long. Where GPUs work through a step in which nothing was launched, they run steps long after their
-- launches, which then do not tell how much is outside of steps: how long GPUs worked there does, in a run
-- that was timed throughout. It is no more than all steps: the rest is a start. recorded_steps: those whose
-- begin and end are known, parts of steps among them; NULL where calls do not tell what is a step's.
CREATE VIEW v_run_steps AS
WITH usual AS (
  SELECT rank_id, avg(dur_ns) AS dur_ns, count(*) AS whole_steps, count(iif(no_step, NULL, 1)) AS steps
  FROM v_recorded_step WHERE coalesce(left_out, 0) = 0 GROUP BY rank_id),
others AS (
  SELECT s.rank_id, count(iif(s.no_step, NULL, 1)) AS steps,
    sum(CASE WHEN s.no_step THEN coalesce(1.0 * s.dur_ns / u.dur_ns, 0.0)
    WHEN a.outside_steps IS NOT NULL THEN iif(s.why = 'nothing says where the last step ends', 0.0, 1.0)
    ELSE coalesce(min(1.0, 1.0 * s.dur_ns / u.dur_ns), 1.0) END) AS whole_steps
  FROM v_recorded_step s JOIN rank a ON a.rank_id = s.rank_id LEFT JOIN usual u ON u.rank_id = s.rank_id
  WHERE coalesce(s.left_out, 0) <> 0 GROUP BY s.rank_id),
recorded AS (
  SELECT rank_id, sum(steps) AS steps, total(whole_steps) AS whole_steps
  FROM (SELECT rank_id, steps, whole_steps FROM usual UNION ALL
        SELECT rank_id, steps, whole_steps FROM others)
  GROUP BY rank_id),
late AS (
  SELECT r.rank_id FROM rank r WHERE coalesce(r.called_ahead, 0) = 0
    AND EXISTS (SELECT 1 FROM gpu u JOIN gpu_step g ON g.gpu_id = u.gpu_id
      WHERE u.rank_id = r.rank_id AND g.step >= 0 AND g.operations = 0 AND g.busy_low_ns > 0)),
worked AS (
  SELECT u.rank_id, min(count(DISTINCT iif(g.step >= 0, g.step, NULL)),
      total(iif(g.step < 0, g.busy_high_ns, 0)) * count(DISTINCT iif(g.step >= 0, g.step, NULL))
      / nullif(total(iif(g.step >= 0, g.busy_high_ns, 0)), 0)) AS outside_steps
  FROM late l JOIN gpu u ON u.rank_id = l.rank_id JOIN gpu_step g ON g.gpu_id = u.gpu_id GROUP BY u.rank_id
  HAVING min(u.timed_share) >= 0.999
    AND NOT EXISTS (SELECT 1 FROM step s
      WHERE s.rank_id = u.rank_id AND s.why = 'not recorded, or not all of it'))
SELECT r.rank_id, iif(coalesce(r.rows_gone, 0) = 0, n.steps, m.steps) AS steps,
  iif(coalesce(r.rows_gone, 0) = 0, n.whole_steps + coalesce(r.outside_steps, w.outside_steps, 0), m.steps)
    AS whole_steps,
  iif(coalesce(r.rows_gone, 0) = 0 AND r.rank_id NOT IN (SELECT rank_id FROM late), n.whole_steps, NULL)
    AS recorded_steps
FROM rank r JOIN recorded n ON n.rank_id = r.rank_id LEFT JOIN worked w ON w.rank_id = r.rank_id
  JOIN (SELECT rank_id, iif(steps_source <> 'detected', marked_steps, NULL) AS steps FROM rank) m
    ON m.rank_id = r.rank_id
WHERE coalesce(r.steps_source, 'none') <> 'none'
  AND EXISTS (SELECT 1 FROM v_counted_step c WHERE c.rank_id = r.rank_id);

-- Steps of all GPUs together that work in them: what kernels of all GPUs are divided by.
CREATE VIEW v_steps_of_gpus AS
SELECT sum(s.whole_steps) AS steps FROM v_run_steps s JOIN gpu u ON u.rank_id = s.rank_id
WHERE u.unused IS NULL;

-- Of each GPU: counted steps that were timed as a whole; where there are none, or they are unlike most, all
-- that is known of them (spans). Not if all windows were over when the first of them began: start-up and
-- warm-up say nothing of steps.
CREATE VIEW v_gpu_basis AS
SELECT u.gpu_id, c.step, c.number, CASE WHEN c.is_slice = 1 THEN 'slices' ELSE 'steps' END AS basis
FROM gpu u JOIN v_counted_step c ON c.rank_id = u.rank_id
  JOIN gpu_step g ON g.gpu_id = u.gpu_id AND g.step = c.step
WHERE u.gpu_id NOT IN (SELECT gpu_id FROM unlike_steps) AND u.gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu)
UNION ALL
SELECT u.gpu_id, g.step, NULL AS number, 'spans' AS basis
FROM gpu u CROSS JOIN gpu_step g  -- which GPUs is asked once of each, not once of each step
WHERE g.gpu_id = u.gpu_id AND (g.step < 0
    OR EXISTS (SELECT 1 FROM v_counted_step c WHERE c.rank_id = u.rank_id AND c.step = g.step)
    OR NOT EXISTS (SELECT 1 FROM v_counted_step c WHERE c.rank_id = u.rank_id))
  AND u.gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu)
  AND (u.gpu_id IN (SELECT gpu_id FROM unlike_steps)
    OR NOT EXISTS (SELECT 1 FROM v_counted_step c JOIN gpu_step w ON w.step = c.step
                   WHERE c.rank_id = u.rank_id AND w.gpu_id = u.gpu_id))
  AND u.gpu_id NOT IN (SELECT t.gpu_id FROM gpu t JOIN (SELECT c.rank_id, min(c.begin_ns) AS begin_ns
                         FROM v_counted_step c WHERE c.is_slice = 0 GROUP BY c.rank_id) f
                         ON f.rank_id = t.rank_id WHERE f.begin_ns >= t.timed_until_ns);

-- A GPU in one of these, in ns. busy_low_ns and busy_high_ns are bounds that hold where v_gpu_bounds says so,
-- the likely ones hold in 95 of 100 cases.
CREATE VIEW v_gpu_counted AS
SELECT b.gpu_id, b.step, b.number, b.basis, v.window_ns, v.busy_ns, v.idle_ns, v.waiting_for_peer_ns,
  v.productive_ns, v.exposed_transfer_ns, v.memory_ns, v.compute_ns, v.copy_ns, v.comm_ns,
  v.exposed_comm_ns, v.exposed_wait_ns,
  g.busy_low_ns, g.busy_high_ns, g.busy_likely_low_ns, g.busy_likely_high_ns, g.operations, g.timed
FROM v_gpu_basis b
  JOIN v_gpu_step v ON v.gpu_id = b.gpu_id AND v.step = b.step
  JOIN gpu_step g ON g.gpu_id = b.gpu_id AND g.step = b.step;

-- Collectives of each rank that ran, and what is not known of them.
CREATE VIEW v_collective_sum AS
SELECT c.rank_id, total(c.own_ns) AS own_ns,
  total(CASE WHEN c.custom = 1 OR c.ranks IS NULL OR c.parts < c.ranks
               OR (c.op = 'send' AND c.wait_ns IS NULL) THEN c.own_ns ELSE 0 END) AS unknown_ns,
  max(c.op = 'send' AND c.wait_ns IS NULL AND coalesce(c.parts = c.ranks, 0)) AS messages,
  max(CASE WHEN c.parts < c.ranks THEN c.ranks END) AS ranks,
  max(CASE WHEN c.parts < c.ranks THEN c.parts END) AS parts
FROM collective_instance c WHERE c.own_ns IS NOT NULL GROUP BY c.rank_id;

-- GPUs of which it is not known how long their collectives waited for other ranks: a row for each.
CREATE VIEW v_unknown_wait AS
SELECT u.gpu_id,
  CASE WHEN o.ranks IS NOT NULL
       THEN 'of ' || o.ranks || ' ranks ' || o.parts || CASE WHEN o.parts = 1 THEN ' is' ELSE ' are' END
            || ' in this run: how long it waited for the others is not known'
       WHEN o.messages = 1 THEN 'it is not known when the other ends of its messages began'
       ELSE 'its collectives do not say of which ranks they are' END AS why
FROM gpu u JOIN collective_sum o ON o.rank_id = u.rank_id
WHERE o.unknown_ns > 0.01 * o.own_ns
UNION ALL
SELECT u.gpu_id, 'its collectives are not linked to calls of NCCL'
FROM gpu u
WHERE EXISTS (SELECT 1 FROM kernel k WHERE k.gpu_id = u.gpu_id AND coalesce(k.comm_source, 'none') <> 'none')
  AND u.rank_id NOT IN (SELECT rank_id FROM collective_sum);

-- A GPU over all of these: sums in ns. NULL: how long it waited, and so what was exposed beside that, is not
-- known (v_unknown_wait).
CREATE VIEW v_gpu_total AS
SELECT gpu_id, min(basis) AS basis, count(*) AS steps, sum(window_ns) AS window_ns, sum(busy_ns) AS busy_ns,
  sum(idle_ns) AS idle_ns,
  CASE WHEN gpu_id IN (SELECT w.gpu_id FROM v_unknown_wait w) THEN NULL ELSE sum(waiting_for_peer_ns) END
    AS waiting_for_peer_ns,
  sum(productive_ns) AS productive_ns,
  CASE WHEN gpu_id IN (SELECT w.gpu_id FROM v_unknown_wait w) THEN NULL ELSE sum(exposed_transfer_ns) END
    AS exposed_transfer_ns,
  sum(memory_ns) AS memory_ns, sum(compute_ns) AS compute_ns, sum(copy_ns) AS copy_ns,
  sum(comm_ns) AS comm_ns, sum(exposed_comm_ns) AS exposed_comm_ns,
  -- bounds, of each step no further in than its busy time
  sum(CASE WHEN busy_low_ns < busy_ns THEN busy_low_ns ELSE busy_ns END) AS busy_low_ns,
  sum(CASE WHEN busy_high_ns > busy_ns THEN busy_high_ns ELSE busy_ns END) AS busy_high_ns,
  sum(CASE WHEN busy_likely_low_ns < busy_ns THEN busy_likely_low_ns ELSE busy_ns END) AS busy_likely_low_ns,
  sum(CASE WHEN busy_likely_high_ns > busy_ns THEN busy_likely_high_ns ELSE busy_ns END)
    AS busy_likely_high_ns
FROM v_gpu_counted GROUP BY gpu_id;

-- Why a GPU was idle in these, by cause and by group of causes, in ns.
CREATE VIEW v_gpu_idle AS
SELECT b.gpu_id, p.cause, c.cause_group, sum(p.ns) AS ns, sum(p.drained_by_sync_ns) AS drained_by_sync_ns
FROM v_gpu_basis b
  JOIN gap p ON p.gpu_id = b.gpu_id AND p.step = b.step
  LEFT JOIN idle_cause c ON c.cause = p.cause
GROUP BY b.gpu_id, p.cause, c.cause_group;

-- Of its idle time for input in these, the stages of loading a batch that something tells, in ns; of what is
-- left of the group's idle time nothing tells it.
CREATE VIEW v_input_stage AS
SELECT b.gpu_id, s.stage, sum(s.ns) AS ns
FROM v_gpu_basis b JOIN input_stage s ON s.gpu_id = b.gpu_id AND s.step = b.step
GROUP BY b.gpu_id, s.stage;

-- Of that idle time, what lies in the program's own ranges, in ns: by cause and the innermost range.
CREATE VIEW v_idle_range AS
SELECT r.gpu_id, r.cause, r.domain, r.name, sum(r.ns) AS ns, sum(r.over_ns) AS over_ns
FROM (SELECT gpu_id, max(basis) AS basis FROM v_gpu_basis GROUP BY gpu_id) b
  JOIN idle_range r ON r.gpu_id = b.gpu_id
WHERE r.steps = 'counted' OR (b.basis = 'spans' AND r.steps = 'none')
GROUP BY r.gpu_id, r.cause, r.domain, r.name;
