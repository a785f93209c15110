-- How many collectives and how many bytes does a step have?
-- For a run. Many small ones want buckets. Without those that were captured into graphs, which have no step.
WITH of_step AS (
  SELECT i.rank_id, i.step, i.op, count(*) AS calls, sum(i.bytes) AS bytes, min(i.bytes) AS smallest,
    max(i.bytes) AS largest
  FROM collective_instance i
  JOIN v_counted_step s ON s.rank_id = i.rank_id AND s.step = i.step
  GROUP BY i.rank_id, i.step, i.op)
SELECT r.rank, o.op, count(*) AS steps,
  round(avg(o.calls), 2) AS calls_per_step,
  round(avg(o.bytes) / 1e6, 3) AS megabytes_per_step,
  min(o.smallest) AS smallest_bytes, max(o.largest) AS largest_bytes
FROM of_step o
JOIN rank r ON r.rank_id = o.rank_id
GROUP BY o.rank_id, o.op
ORDER BY r.rank, avg(o.bytes) DESC;
