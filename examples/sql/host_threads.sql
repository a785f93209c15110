-- What does the launching thread do between its calls?
-- For a run. running: on a CPU, in the program's own code; blocked: waiting, or ready without a CPU; of it
-- without_cpu, where that was sampled.
SELECT r.rank, t.thread_id, t.launches, t.gpus, t.device_switches,
  round(t.api_ns / 1e6, 3) AS in_calls_ms,
  round(t.running_ns / 1e6, 3) AS running_ms,
  round(t.blocked_ns / 1e6, 3) AS blocked_ms,
  round(t.runqueue_ns / 1e6, 3) AS without_cpu_ms
FROM thread_stat t
JOIN rank r ON r.rank_id = t.rank_id
ORDER BY r.rank, t.launches DESC;
