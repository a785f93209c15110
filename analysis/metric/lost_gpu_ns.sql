-- of: ranks, unit: ns, kind: measured, version: 1
-- words: waits of all ranks for others, of the busiest communicator
-- absent: no collective in which ranks meet
SELECT l.lost_gpu_ns AS value, l.why FROM v_most_lost l;
