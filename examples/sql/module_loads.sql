-- Was code loaded after the warm-up?
-- For a run. New shapes that are compiled in the middle of training show here, and in steps with has_load.
SELECT r.rank, l.loads, round(l.load_ns / 1e6, 4) AS load_ms,
  l.after_warm_up, round(l.after_warm_up_ns / 1e6, 4) AS after_warm_up_ms,
  (SELECT min(s.number) FROM step s WHERE s.rank_id = l.rank_id AND s.warm_up = 0 AND s.has_load = 1)
    AS first_such_step
FROM load_stat l
JOIN rank r ON r.rank_id = l.rank_id
ORDER BY r.rank;
