-- What did recording cost the program?
-- For a run. own_cost: of the time of the thread that paid most; the writer has a thread of its own, and its
-- share is of one core. NULL: not recorded.
SELECT rank, host, level AS device_times,
  round(own_cost_share, 6) AS own_cost_share, budget AS allowed_share,
  round(writer_cpu_share, 6) AS writer_share_of_a_core
FROM rank
ORDER BY own_cost_share DESC;
