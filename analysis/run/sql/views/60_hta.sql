-- By the definitions of HolisticTraceAnalysis, to compare with what it prints. The figures are of the share
-- `timed_share` of the operations that count, which have device times. Below 99 % they are NULL, and `why`
-- says so: what ran without times would pass for idle.
CREATE VIEW compat_hta_temporal AS
WITH covered AS (
  SELECT *, operations * 1.0 / (operations + untimed) AS timed_share,
    operations * 100 >= (operations + untimed) * 99 AS is_covered
  FROM hta_time WHERE operations > 0)
SELECT r.rank,
  CASE WHEN h.is_covered THEN 1.0 - h.busy_ns * 1.0 / h.window_ns END AS idle_share,
  CASE WHEN h.is_covered THEN h.compute_ns * 1.0 / h.window_ns END AS compute_share,
  CASE WHEN h.is_covered THEN (h.busy_ns - h.compute_ns) * 1.0 / h.window_ns END AS non_compute_share,
  CASE WHEN h.is_covered THEN h.window_ns END AS kernel_time_ns,
  -- of the time in which communication ran; NULL: none did
  CASE WHEN h.is_covered AND h.comm_ns > 0 THEN h.overlap_ns * 1.0 / h.comm_ns END AS overlap_share,
  h.timed_share,
  CASE WHEN NOT h.is_covered
    THEN h.untimed || ' of ' || (h.operations + h.untimed) || ' operations have no device times' END AS why
FROM covered h JOIN rank r ON r.rank_id = h.rank_id;

CREATE VIEW compat_hta_idle AS
SELECT r.rank, g.stream, g.category,
  g.ns AS idle_ns,                                   -- less than 0: operations of the stream overlapped
  h.operations * 1.0 / (h.operations + h.untimed) AS timed_share
FROM hta_gap g JOIN rank r ON r.rank_id = g.rank_id JOIN hta_time h ON h.rank_id = g.rank_id
WHERE h.operations * 100 >= (h.operations + h.untimed) * 99;
