-- How long is each part of a step?
-- For a run. Inferred from the order of what was submitted: `confidence` says how far. On the GPU (phases may
-- run beside each other), and how long the host took to launch it.
SELECT r.rank, p.name AS phase,
  round(sum(p.device_ns) / 1e6 / count(DISTINCT p.step), 4) AS gpu_ms_per_step,
  round(sum(p.dur_ns) / 1e6 / count(DISTINCT p.step), 4) AS launching_ms_per_step,
  round(sum(p.dur_ns) * 1.0 / (SELECT sum(dur_ns) FROM v_counted_step w WHERE w.rank_id = p.rank_id), 4)
    AS share_of_time,
  min(p.confidence) AS confidence
FROM phase p
JOIN v_counted_step s ON s.rank_id = p.rank_id AND s.step = p.step
JOIN rank r ON r.rank_id = p.rank_id
GROUP BY p.rank_id, p.name
ORDER BY r.rank, sum(p.dur_ns) DESC;
