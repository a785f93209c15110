-- Which copies use pageable memory, and what do their calls cost the host?
-- For a run. Pinned memory would make them faster, and asynchronous.
SELECT rank, kind,
  sum(count) AS copies,
  round(sum(bytes) / 1e6, 3) AS megabytes,
  round(sum(bytes) * 1.0 / (SELECT sum(bytes) FROM copy_stat a WHERE a.gpu_id = c.gpu_id AND a.kind = c.kind),
    4) AS share_of_bytes,
  round(sum(call_sum_ns) / 1e6, 3) AS in_calls_ms,
  round(sum(call_sum_ns) / 1e3 / sum(count), 2) AS us_per_call
FROM v_copy_stat c
WHERE source = 'pageable' OR target = 'pageable'
GROUP BY rank, gpu_id, kind
ORDER BY rank, sum(call_sum_ns) DESC;
