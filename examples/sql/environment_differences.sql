-- Which performance variables differ between ranks?
-- For a run. Of the fixed list that is always recorded. No rows: all ranks had the same.
SELECT n.name, r.rank, r.host, coalesce(e.value, '(not set)') AS value
FROM (SELECT DISTINCT name FROM environment) n
JOIN rank r
LEFT JOIN environment e ON e.rank_id = r.rank_id AND e.name = n.name
WHERE (SELECT count(*) FROM environment a WHERE a.name = n.name) < (SELECT count(*) FROM rank)
  OR (SELECT count(DISTINCT a.value) FROM environment a WHERE a.name = n.name) > 1
ORDER BY n.name, r.rank;
