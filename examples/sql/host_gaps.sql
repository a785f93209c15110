-- What kept the program between two calls?
-- For a trace. The twenty longest times in which a thread made no call: on a CPU (its own code: the input
-- pipeline, Python), blocked, or ready without a CPU. after_step: how many steps had begun.
SELECT thread,
  round((enter_ns - (SELECT value FROM meta WHERE key = 'started_mono_ns')) / 1e9, 6) AS at_s,
  round(dur_ns / 1e6, 3) AS gap_ms,
  round(running_ns / 1e6, 3) AS running_ms,
  round(blocked_ns / 1e6, 3) AS blocked_ms,
  round(runqueue_ns / 1e6, 3) AS without_cpu_ms,
  class AS blocked_on,
  (SELECT count(*) FROM marker s WHERE s.kind = 'step' AND s.enter_ns <= g.enter_ns) AS after_step
FROM v_host_gap g
ORDER BY dur_ns DESC, enter_ns
LIMIT 20;
