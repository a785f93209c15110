-- Is everything here that the program did?
-- For a run. produced = recorded + recovered + dropped + unfinished + unknown, for each rank.
SELECT rank, host, pid, executable, produced, recorded, recovered, dropped, unfinished, unknown,
  round((last_ns - first_ns) / 1e9, 3) AS recorded_s
FROM rank
ORDER BY rank, pid;
