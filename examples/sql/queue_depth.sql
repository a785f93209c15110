-- How much work does the GPU have ahead of it when the next launch comes?
-- For a run. Depth: operations that have not started. A large share at 0: the host does not keep up.
SELECT r.rank, h.stream_id,
  round(h.sum_ns * 1.0 / h.count, 1) AS mean_depth,   -- of a bucket, whose numbers are alike
  h.count AS launches,
  round(h.count * 1.0 / sum(h.count) OVER (PARTITION BY h.gpu_id, h.stream_id), 4) AS share,
  round(sum(h.count) OVER (PARTITION BY h.gpu_id, h.stream_id ORDER BY h.bucket
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) * 1.0 /
    sum(h.count) OVER (PARTITION BY h.gpu_id, h.stream_id), 4) AS share_up_to
FROM histogram h
JOIN gpu g ON g.gpu_id = h.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
WHERE h.what = 'queue_depth'
ORDER BY r.rank, h.gpu_id, h.stream_id, h.bucket;
