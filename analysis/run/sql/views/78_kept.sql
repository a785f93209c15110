-- What timelines draw of together_step: of each rank from when to when, on the clock of all. A step is
-- drawn whole. An excerpt ends with the last call of which all that came before it is kept, because what
-- comes after looks idle, and all ranks are drawn for the same time; where they have none in common, the
-- first rank alone.
CREATE VIEW v_drawn_step AS
WITH kept AS (
  SELECT t.why, t.rank_id, t.step, s.begin_ns + t.offset_ns AS begin_ns,
    coalesce(CASE WHEN t.why = 'excerpt' AND k.left_out > 0 THEN (
      SELECT max(c.enter_ns) FROM kept_call c
      WHERE c.rank_id = t.rank_id AND c.step = t.step AND c.before = 0) END, s.begin_ns + s.dur_ns)
    + t.offset_ns AS end_ns
  FROM together_step t JOIN kept_step k ON k.rank_id = t.rank_id AND k.step = t.step
  JOIN step s ON s.rank_id = t.rank_id AND s.step = t.step
), common AS (
  SELECT why, max(begin_ns) AS begin_ns, min(end_ns) AS end_ns, min(rank_id) AS first_rank_id
  FROM kept WHERE why = 'excerpt' GROUP BY why
)
SELECT k.why, k.rank_id, k.step,
  CASE WHEN c.begin_ns < c.end_ns THEN c.begin_ns ELSE k.begin_ns END AS begin_ns,
  CASE WHEN c.begin_ns < c.end_ns THEN c.end_ns ELSE k.end_ns END AS end_ns
FROM kept k LEFT JOIN common c ON c.why = k.why
WHERE c.why IS NULL OR c.begin_ns < c.end_ns OR k.rank_id = c.first_rank_id;
