-- By the definitions of HolisticTraceAnalysis, to compare with what it prints. NULL: not everything has
-- device times, so it would not have seen all of it.
CREATE VIEW compat_hta_temporal AS
SELECT r.rank,
  CASE WHEN h.untimed = 0 THEN 1.0 - h.busy_ns * 1.0 / h.window_ns END AS idle_share,
  CASE WHEN h.untimed = 0 THEN h.compute_ns * 1.0 / h.window_ns END AS compute_share,
  CASE WHEN h.untimed = 0 THEN (h.busy_ns - h.compute_ns) * 1.0 / h.window_ns END AS non_compute_share,
  CASE WHEN h.untimed = 0 THEN h.window_ns END AS kernel_time_ns,
  -- of the time in which communication ran; NULL: none did
  CASE WHEN h.untimed = 0 AND h.comm_ns > 0 THEN h.overlap_ns * 1.0 / h.comm_ns END AS overlap_share
FROM hta_time h JOIN rank r ON r.rank_id = h.rank_id
WHERE h.operations > 0;

CREATE VIEW compat_hta_idle AS
SELECT r.rank, g.stream, g.category,
  g.ns AS idle_ns                                    -- less than 0: operations of the stream overlapped
FROM hta_gap g JOIN rank r ON r.rank_id = g.rank_id JOIN hta_time h ON h.rank_id = g.rank_id
WHERE h.untimed = 0;
