-- What was lost, and why?
-- For a run. One row for each rank and reason; a rank that lost nothing has one row with 0.
SELECT r.rank, coalesce(d.reason, '(nothing was lost)') AS reason, coalesce(d.events, 0) AS events,
  round(coalesce(d.events, 0) * 1.0 / nullif(r.produced, 0), 6) AS share
FROM rank r
LEFT JOIN "drop" d ON d.rank_id = r.rank_id AND d.events > 0
ORDER BY coalesce(d.events, 0) DESC, r.rank;
