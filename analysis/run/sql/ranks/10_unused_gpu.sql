-- Whether each GPU worked in steps that count (v_counted_step): what was called for it there tells, and what
-- was seen to run. Of memsets only what was seen tells; where nothing was seen they may have been in steps.
UPDATE gpu SET unused = 1 WHERE gpu_id IN (
WITH several AS (
  SELECT u.rank_id FROM gpu u GROUP BY u.rank_id HAVING count(*) > 1
), counted AS (
  SELECT s.rank_id, s.step FROM step s WHERE coalesce(s.warm_up, 0) = 0 AND coalesce(s.left_out, 0) = 0
    AND s.rank_id IN (SELECT v.rank_id FROM several v)
), seen AS (
  SELECT u.gpu_id, sum(g.operations + (g.busy_low_ns > 0)) AS signs
  FROM gpu u JOIN counted c ON c.rank_id = u.rank_id
    JOIN gpu_step g ON g.gpu_id = u.gpu_id AND g.step = c.step
  GROUP BY u.gpu_id
), worked AS (
  SELECT u.gpu_id, u.rank_id,
    coalesce((SELECT sum(k.in_steps) FROM kernel k WHERE k.gpu_id = u.gpu_id), 0)
      + coalesce((SELECT sum(l.in_steps) FROM launch_stat l WHERE l.gpu_id = u.gpu_id), 0)
      + coalesce((SELECT sum(c.steps) FROM copy_stat c WHERE c.gpu_id = u.gpu_id), 0)
      + coalesce((SELECT e.signs FROM seen e WHERE e.gpu_id = u.gpu_id),
                 (SELECT count(*) FROM memset_stat m WHERE m.gpu_id = u.gpu_id)) AS signs
  FROM gpu u WHERE u.rank_id IN (SELECT c.rank_id FROM counted c)
)
SELECT w.gpu_id FROM worked w
WHERE w.signs = 0 AND EXISTS (SELECT 1 FROM worked o WHERE o.rank_id = w.rank_id AND o.signs > 0));

UPDATE gpu SET why = 'nothing ran on it in '
  || (SELECT iif(coalesce(r.steps_source, 'none') = 'none', 'what was timed', 'steps') FROM rank r
      WHERE r.rank_id = gpu.rank_id)
  || ', and its process worked on another GPU'
WHERE unused = 1;
