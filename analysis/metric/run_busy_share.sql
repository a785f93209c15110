-- of: gpu, unit: share, kind: estimated, version: 1
-- words: at least one operation ran, of the whole run, without our events
-- absent: no operation has device times
SELECT u.gpu_id, u.busy_share AS value FROM gpu u;

-- The range of its windows.
INSERT INTO metric_interval
SELECT 'run_busy_share', 'gpu', u.gpu_id, u.busy_share_low, u.busy_share_high, u.busy_share_likely_low,
  u.busy_share_likely_high
FROM gpu u WHERE u.busy_share_low IS NOT NULL AND u.busy_share_high IS NOT NULL;
