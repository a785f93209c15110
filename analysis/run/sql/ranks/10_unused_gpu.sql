-- Whether each GPU worked in steps that count (v_counted_step): what was launched tells, and what was seen to
-- run.
INSERT INTO unused_gpu
WITH counted AS (
  SELECT s.rank_id, s.step FROM step s WHERE coalesce(s.warm_up, 0) = 0 AND coalesce(s.left_out, 0) = 0
), worked AS (
  SELECT u.gpu_id, u.rank_id,
    coalesce((SELECT sum(k.in_steps) FROM kernel k WHERE k.gpu_id = u.gpu_id), 0)
      + coalesce((SELECT sum(g.operations + (g.busy_low_ns > 0)) FROM gpu_step g
                  JOIN counted c ON c.step = g.step AND c.rank_id = u.rank_id
                  WHERE g.gpu_id = u.gpu_id), 0) AS signs
  FROM gpu u WHERE u.rank_id IN (SELECT c.rank_id FROM counted c)
)
SELECT w.gpu_id FROM worked w
WHERE w.signs = 0 AND EXISTS (SELECT 1 FROM worked o WHERE o.rank_id = w.rank_id AND o.signs > 0);

UPDATE gpu SET why = 'nothing ran on it in steps, and its process worked on another GPU'
WHERE why IS NULL AND gpu_id IN (SELECT gpu_id FROM unused_gpu);
