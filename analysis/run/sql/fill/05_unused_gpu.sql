-- Whether each GPU worked in steps that count: what was launched tells, and what was seen to run.
INSERT INTO unused_gpu
WITH worked AS (
  SELECT u.gpu_id, u.rank_id,
    coalesce((SELECT sum(k.in_steps) FROM kernel k WHERE k.gpu_id = u.gpu_id), 0)
      + coalesce((SELECT sum(g.operations + (g.busy_low_ns > 0)) FROM gpu_step g
                  JOIN v_counted_step c ON c.step = g.step AND c.rank_id = u.rank_id
                  WHERE g.gpu_id = u.gpu_id), 0) AS signs
  FROM gpu u WHERE u.rank_id IN (SELECT c.rank_id FROM v_counted_step c)
)
SELECT w.gpu_id FROM worked w
WHERE w.signs = 0 AND EXISTS (SELECT 1 FROM worked o WHERE o.rank_id = w.rank_id AND o.signs > 0);

UPDATE gpu SET why = 'nothing ran on it in steps, and its process worked on another GPU'
WHERE why IS NULL AND gpu_id IN (SELECT gpu_id FROM unused_gpu);

-- What it could do is no part of what the job could. Processes that share a GPU have one row there.
DELETE FROM gpu_peak WHERE gpu_id IN (SELECT gpu_id FROM unused_gpu) AND gpu_id NOT IN (
  SELECT s.gpu_id FROM shared_gpu s JOIN shared_gpu o ON o.shared_id = s.shared_id
  WHERE o.gpu_id NOT IN (SELECT gpu_id FROM unused_gpu));
