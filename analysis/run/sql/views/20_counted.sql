-- Which rows a figure is of: steps that count, and of each GPU those that were timed from begin to end.

-- Steps that count: no warm-up, not left out. is_slice: the run has no steps, this is a slice of it.
CREATE VIEW v_counted_step AS
SELECT s.rank_id, s.step, s.number, s.begin_ns, s.dur_ns, s.signature, s.samples,
  CASE WHEN coalesce(r.steps_source, 'none') = 'none' THEN 1 ELSE 0 END AS is_slice
FROM step s JOIN rank r ON r.rank_id = s.rank_id
WHERE coalesce(s.warm_up, 0) = 0 AND coalesce(s.left_out, 0) = 0;

-- Of each GPU: counted steps that were timed as a whole; where there are none, all that is known (spans).
CREATE VIEW v_gpu_basis AS
SELECT u.gpu_id, c.step, c.number, CASE WHEN c.is_slice = 1 THEN 'slices' ELSE 'steps' END AS basis
FROM gpu u JOIN v_counted_step c ON c.rank_id = u.rank_id
  JOIN gpu_step g ON g.gpu_id = u.gpu_id AND g.step = c.step
UNION ALL
SELECT u.gpu_id, g.step, NULL AS number, 'spans' AS basis
FROM gpu u JOIN gpu_step g ON g.gpu_id = u.gpu_id
WHERE NOT EXISTS (SELECT 1 FROM v_counted_step c JOIN gpu_step w ON w.step = c.step
                  WHERE c.rank_id = u.rank_id AND w.gpu_id = u.gpu_id);

-- A GPU in one of these, in ns. busy_low_ns and busy_high_ns are certain bounds, the likely ones hold in 95
-- of 100 cases.
CREATE VIEW v_gpu_counted AS
SELECT b.gpu_id, b.step, b.number, b.basis, v.window_ns, v.busy_ns, v.idle_ns, v.waiting_for_peer_ns,
  v.productive_ns, v.compute_ns, v.copy_ns, v.comm_ns, v.exposed_comm_ns, v.exposed_wait_ns,
  g.busy_low_ns, g.busy_high_ns, g.busy_likely_low_ns, g.busy_likely_high_ns, g.operations, g.timed
FROM v_gpu_basis b
  JOIN v_gpu_step v ON v.gpu_id = b.gpu_id AND v.step = b.step
  JOIN gpu_step g ON g.gpu_id = b.gpu_id AND g.step = b.step;

-- A GPU over all of these: sums in ns.
CREATE VIEW v_gpu_total AS
SELECT gpu_id, min(basis) AS basis, count(*) AS steps, sum(window_ns) AS window_ns, sum(busy_ns) AS busy_ns,
  sum(idle_ns) AS idle_ns, sum(waiting_for_peer_ns) AS waiting_for_peer_ns,
  sum(productive_ns) AS productive_ns, sum(compute_ns) AS compute_ns, sum(copy_ns) AS copy_ns,
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
