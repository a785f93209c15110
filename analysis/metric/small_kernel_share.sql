-- of: gpu, unit: share, kind: measured, version: 1
-- words: of timed launches, shorter than twice the launch latency
-- absent: no such operation has device times
SELECT l.gpu_id, CAST(sum(l.small) AS DOUBLE) / sum(l.timed) AS value
FROM launch_stat l GROUP BY l.gpu_id HAVING sum(l.timed) > 0;
