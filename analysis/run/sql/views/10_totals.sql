-- What every section asks for, from the tables of the parts.

-- GPUs on which nothing ran in steps, of a process that worked on another one: a context there is all that it
-- has (TensorFlow and JAX make one on each GPU). They are in no mean.
CREATE VIEW v_unused_gpu AS SELECT gpu_id FROM gpu WHERE unused = 1;

-- Whether all that a GPU's row and its metric_interval call low and high is certain. 0: these are estimates,
-- because the times are by our events and this kind of GPU was never calibrated; NULL: not recorded.
CREATE VIEW v_gpu_bounds AS
SELECT gpu_id,
  CASE WHEN level = 'events' THEN gaps_calibrated
       WHEN level = 'host' THEN coalesce(gaps_calibrated, 1)  -- of operations in refused windows
       WHEN level IS NOT NULL THEN 1 END AS hold
FROM gpu;

-- A GPU in one step, from what ran at the same time. Classes: see activity. Each instant is in one of
-- productive_ns (compute), waiting_for_peer_ns, exposed_transfer_ns, memory_ns and idle_ns: the first that
-- is true.
CREATE VIEW v_gpu_step AS
SELECT a.gpu_id, a.step,
  sum(a.ns) AS window_ns,
  sum(CASE WHEN a.classes > 0 THEN a.ns ELSE 0 END) AS busy_ns,
  sum(CASE WHEN a.classes = 0 THEN a.ns ELSE 0 END) AS idle_ns,
  sum(CASE WHEN a.classes & 257 = 0 AND a.classes & 4 > 0 THEN a.ns ELSE 0 END) AS waiting_for_peer_ns,
  sum(CASE WHEN a.classes & 257 > 0 THEN a.ns ELSE 0 END) AS productive_ns,
  sum(CASE WHEN a.classes & 257 = 0 AND a.classes & 6 = 2 THEN a.ns ELSE 0 END) AS exposed_transfer_ns,
  sum(CASE WHEN a.classes > 0 AND a.classes & 263 = 0 THEN a.ns ELSE 0 END) AS memory_ns,
  sum(CASE WHEN a.classes & 257 > 0 THEN a.ns ELSE 0 END) AS compute_ns,
  sum(CASE WHEN a.classes & 632 > 0 THEN a.ns ELSE 0 END) AS copy_ns,
  sum(CASE WHEN a.classes & 6 > 0 THEN a.ns ELSE 0 END) AS comm_ns,
  sum(CASE WHEN a.classes & 6 > 0 AND a.classes & ~6 = 0 THEN a.ns ELSE 0 END) AS exposed_comm_ns,
  sum(CASE WHEN a.classes & 6 = 4 AND a.classes & ~6 = 0 THEN a.ns ELSE 0 END) AS exposed_wait_ns
FROM activity a
GROUP BY a.gpu_id, a.step;
