-- When did held memory reach new heights, and by which calls?
-- For a trace. One row each time that more was held than ever before, of each kind and context.
WITH held AS (
  SELECT enter_ns, api, kind, context_id, device_id, bytes, held_bytes,
    max(held_bytes) OVER (PARTITION BY kind, context_id ORDER BY enter_ns
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS most_before
  FROM v_memory WHERE failed = 0 AND held_bytes IS NOT NULL)
SELECT kind, device_id,
  round((enter_ns - (SELECT value FROM meta WHERE key = 'started_mono_ns')) / 1e9, 3) AS at_s,
  api, bytes,
  round(held_bytes / 1048576.0, 3) AS held_mib
FROM held
WHERE held_bytes > coalesce(most_before, 0)
ORDER BY kind, context_id, enter_ns;
