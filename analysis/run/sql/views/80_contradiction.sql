-- What cannot all be true of one run, asked again whenever somebody reads it. A row withholds the sections
-- of the report that it names (space-separated): the report says the row in their place, and ends with 3.
-- A check is one SELECT; where a figure is not known there is nothing to check. Figures are sums of whole
-- nanoseconds, so small differences are rounding. Where the bounds of a GPU are not known to hold
-- (v_gpu_bounds), a figure outside of them contradicts an estimate: `sections` is empty then.
CREATE VIEW v_contradiction AS
WITH who AS (
  SELECT u.gpu_id, u.rank_id, u.run_ns, u.busy_share, u.busy_share_low, u.busy_share_high,
    coalesce(b.hold, 0) AS bounds_hold,
    coalesce('rank ' || r.rank, 'process ' || r.pid, 'trace ' || r.rank_id)
      || CASE WHEN u.device_id IS NULL THEN '' ELSE ' GPU ' || u.device_id END AS label
  FROM gpu u JOIN rank r ON r.rank_id = u.rank_id JOIN v_gpu_bounds b ON b.gpu_id = u.gpu_id),
in_steps AS (SELECT gpu_id, sum(operations) AS operations FROM gpu_step GROUP BY gpu_id),
-- LIMIT: made once and not for each row. SQLite before 3.35, which has to read this, too, does not know the
-- word for it.
total AS (SELECT * FROM v_gpu_total LIMIT -1),
idle AS (SELECT gpu_id, sum(ns) AS ns FROM v_gpu_idle GROUP BY gpu_id LIMIT -1)

-- Nobody records more than there was.
SELECT 'events_add_up' AS name, 'ledger findings' AS sections,
  coalesce('rank ' || r.rank, 'process ' || r.pid, 'trace ' || r.rank_id) AS who,
  printf('%d events produced, and %d recorded, recovered, unfinished or dropped', r.produced,
    r.produced - r.unknown) AS text
FROM rank r WHERE r.unknown < 0

-- A moment is one of the five.
UNION ALL
SELECT 'shares_add_up', 'gpus idle findings', w.label,
  printf('productive, waiting, exposed communication, memory and idle add up to %.2f %%', 100 * sum(m.value))
FROM metric m JOIN who w ON w.gpu_id = m.id
WHERE m.scope = 'gpu' AND m.name IN ('productive_share', 'waiting_for_peer_share', 'exposed_comm_share',
  'memory_share', 'idle_share')
GROUP BY w.gpu_id HAVING count(m.value) = 5 AND abs(sum(m.value) - 1) > 1e-6

UNION ALL
SELECT 'share_of_a_whole', CASE m.scope WHEN 'gpu' THEN 'gpus idle findings' ELSE 'steps flops findings' END,
  coalesce(w.label, 'the run'), printf('%s is %.2f %%', m.name, 100 * m.value)
FROM metric m JOIN metric_definition d ON d.name = m.name
  LEFT JOIN who w ON m.scope = 'gpu' AND w.gpu_id = m.id
WHERE d.unit = 'share' AND m.value NOT BETWEEN -1e-9 AND 1 + 1e-9

UNION ALL
SELECT 'figure_in_its_range', CASE WHEN w.bounds_hold THEN 'gpus idle certain findings' ELSE '' END, w.label,
  printf('%s is %.2f %%, and its bounds are %.2f and %.2f %%', m.name, 100 * m.value, 100 * i.low,
    100 * i.high)
FROM metric m JOIN metric_interval i ON i.name = m.name AND i.scope = m.scope AND i.id = m.id
  JOIN who w ON w.gpu_id = m.id
WHERE m.scope = 'gpu' AND m.value NOT BETWEEN i.low - 1e-6 AND i.high + 1e-6

UNION ALL
SELECT 'busy_in_its_window', 'gpus idle findings', w.label,
  printf('something ran for %d ns of %d ns, and kernels for %d ns', t.busy_ns, t.window_ns, t.compute_ns)
FROM total t JOIN who w ON w.gpu_id = t.gpu_id
WHERE t.busy_ns + t.idle_ns <> t.window_ns OR t.compute_ns > t.busy_ns OR t.copy_ns > t.busy_ns
  OR t.comm_ns > t.busy_ns OR t.busy_ns < 0 OR t.idle_ns < 0

UNION ALL
SELECT 'causes_add_up', 'idle findings', w.label,
  printf('causes of idle time add up to %d ns of %d ns', i.ns, t.idle_ns)
FROM total t JOIN idle i ON i.gpu_id = t.gpu_id JOIN who w ON w.gpu_id = t.gpu_id
WHERE abs(i.ns - t.idle_ns) > t.steps

-- A stream runs one after another what it runs: never for longer than from its first start to its last end.
UNION ALL
SELECT 'stream_in_its_time', 'streams kernels findings', w.label,
  printf('stream %s ran for %d ns in %d ns', s.stream, s.busy_ns, s.last_ns - s.first_ns)
FROM stream_stat s JOIN who w ON w.gpu_id = s.gpu_id
WHERE s.busy_ns > s.last_ns - s.first_ns

UNION ALL
SELECT 'kernel_in_its_time', 'kernels findings', w.label,
  printf('a kernel ran for %d ns in %d ns, once for %d ns', k.union_ns, t.ns, k.max_ns)
FROM kernel k JOIN who w ON w.gpu_id = k.gpu_id
  JOIN (SELECT gpu_id, max(last_ns) - min(first_ns) AS ns FROM stream_stat GROUP BY gpu_id) t
    ON t.gpu_id = k.gpu_id
WHERE k.union_ns > t.ns OR k.max_ns > k.union_ns

-- Where the steps are nearly all of the run, how busy they were is how busy it was.
UNION ALL
SELECT 'steps_are_the_run', CASE WHEN w.bounds_hold THEN 'gpus certain findings' ELSE '' END, w.label,
  printf('busy for %.1f %% of the steps, which are %.1f %% of the run, and for %.1f %% of the run',
    100.0 * t.busy_ns / t.window_ns, 100.0 * t.window_ns / w.run_ns, 100 * w.busy_share)
FROM total t JOIN who w ON w.gpu_id = t.gpu_id
WHERE t.basis = 'steps' AND w.busy_share IS NOT NULL AND t.window_ns >= 0.95 * w.run_ns
  AND abs(1.0 * t.busy_ns / t.window_ns - w.busy_share)
    > 0.01 + (1 - 1.0 * t.window_ns / w.run_ns) + (w.busy_share_high - w.busy_share_low)
      + 1.0 * (t.busy_high_ns - t.busy_low_ns) / t.window_ns

UNION ALL
SELECT 'steps_in_order', 'steps flops findings', 'the run',
  printf('of steps of %d to %d ns the median is %.0f and the 95th percentile %.0f ns', s.shortest, s.longest,
    m.value, p.value)
FROM (SELECT min(dur_ns) AS shortest, max(dur_ns) AS longest, count(*) AS steps FROM v_counted_step
      WHERE is_slice = 0) s
  JOIN metric m ON m.scope = 'run' AND m.name = 'step_median_ns'
  JOIN metric p ON p.scope = 'run' AND p.name = 'step_p95_ns'
WHERE s.steps > 0 AND NOT (s.shortest > 0 AND m.value BETWEEN s.shortest AND s.longest
  AND p.value BETWEEN m.value AND s.longest)

UNION ALL
SELECT 'operations_are_counted', 'launch kernels findings', w.label,
  printf('%d operations were submitted in steps, and %d in all', p.operations, s.operations)
FROM in_steps p JOIN who w ON w.gpu_id = p.gpu_id
  JOIN (SELECT gpu_id, sum(launches + copies + memsets + graphs + collectives) AS operations
        FROM stream_stat GROUP BY gpu_id) s ON s.gpu_id = p.gpu_id
WHERE p.operations > s.operations

UNION ALL
SELECT 'names_are_names', 'kernels findings', w.label,
  printf('a kernel that was launched %d times has a blank name', k.launches)
FROM kernel k JOIN who w ON w.gpu_id = k.gpu_id WHERE trim(k.name) = '';
