-- What is copied, in which direction and sizes, and how fast?
-- For a run. below_bytes: the power of two that each is below. Rates are of device times; NULL: they are not
-- known. The best one is of a single copy: at least so much, where its duration is not known to a tenth.
SELECT rank, kind, source, target, bytes_each AS below_bytes,
  sum(count) AS copies,
  round(sum(bytes) / 1e6, 3) AS megabytes,
  CASE WHEN sum(sum_ns) > 0 THEN round(sum(timed_bytes) * 1.0 / sum(sum_ns), 2) END AS gigabytes_per_s,
  round(max(best_bytes_per_s) / 1e9, 2) AS best_gigabytes_per_s,
  round(sum(call_sum_ns) / 1e6, 3) AS in_calls_ms
FROM v_copy_stat
GROUP BY rank, kind, source, target, bytes_each
ORDER BY rank, sum(bytes) DESC;
