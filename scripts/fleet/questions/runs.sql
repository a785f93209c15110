-- The runs, newest first: how many ranks were seen of those expected, and what a step took; of servers, from
-- one token to the next, and what prefills took.
SELECT r.day, r.run, r.model, r.machine, r.gpus, r.ranks_seen, r.ranks_expected, r.started_ns,
  max(CASE WHEN m.name = 'step_median_ns' THEN m.value END) AS step_ns,
  max(CASE WHEN m.name = 'step_count' THEN m.value END) AS steps,
  max(CASE WHEN m.name = 'token_gap_p50_ns' THEN m.value END) AS token_p50_ns,
  max(CASE WHEN m.name = 'token_gap_p95_ns' THEN m.value END) AS token_p95_ns,
  max(CASE WHEN m.name = 'token_gap_p99_ns' THEN m.value END) AS token_p99_ns,
  max(CASE WHEN m.name = 'prefill_share' THEN m.value END) AS prefill_share
FROM fleet_run r LEFT JOIN metric m ON m.run = r.run AND m.scope = 'run'
GROUP BY r.day, r.run, r.model, r.machine, r.gpus, r.ranks_seen, r.ranks_expected, r.started_ns
ORDER BY r.started_ns DESC, r.run
