-- How much memory is left on each GPU?
-- For a run. The most that this process held at one time, of what the GPU has. Caches of frameworks count as
-- held.
SELECT r.rank, g.uuid AS gpu,
  round(g.memory_peak_bytes / 1073741824.0, 3) AS peak_gib,
  round(g.memory_total_bytes / 1073741824.0, 3) AS total_gib,
  round(1 - g.memory_peak_bytes * 1.0 / g.memory_total_bytes, 4) AS free_share
FROM gpu g
JOIN rank r ON r.rank_id = g.rank_id
ORDER BY free_share, r.rank;
