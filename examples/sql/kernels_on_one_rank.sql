-- Which kernels ran on some ranks only?
-- For a run. A kernel that one rank alone has is work of its own, or another library.
SELECT k.name,
  count(DISTINCT g.rank_id) AS on_ranks,
  (SELECT count(*) FROM rank) AS of_ranks,
  min(r.rank) AS first_rank,
  sum(k.launches + k.graph_launches) AS executed,
  round(sum(k.sum_ns) / 1e6, 3) AS sum_ms
FROM kernel k
JOIN gpu g ON g.gpu_id = k.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
GROUP BY k.name
HAVING count(DISTINCT g.rank_id) < (SELECT count(*) FROM rank)
ORDER BY sum(k.sum_ns) DESC, k.name;
