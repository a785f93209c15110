-- Who waits for whom?
-- For a run. last: in how many collectives this rank was the last to come, so that the others waited for it.
SELECT i.comm, i.op, r.rank,
  count(*) AS collectives,
  sum(CASE WHEN i.wait_ns = w.least_ns THEN 1 ELSE 0 END) AS last,
  round(sum(i.wait_ns) / 1e6, 3) AS waited_ms,
  round(avg(i.wait_ns) / 1e3, 2) AS mean_wait_us,
  round(max(i.wait_ns) / 1e3, 2) AS longest_wait_us
FROM collective_instance i
JOIN (SELECT instance, min(wait_ns) AS least_ns FROM collective_instance
      WHERE wait_ns IS NOT NULL AND parts > 1 GROUP BY instance) w ON w.instance = i.instance
JOIN rank r ON r.rank_id = i.rank_id
GROUP BY i.comm, i.op, i.rank_id
ORDER BY i.comm, i.op, sum(i.wait_ns) DESC;
