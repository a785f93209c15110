-- of: ranks, unit: ns, kind: inferred, version: 1
-- words: per step, copies behind the backward pass before gradients are reduced
-- absent: no timed step in which something is reduced
SELECT CAST(sum(s.pack_ns) AS DOUBLE) / count(*) AS value, NULL AS why FROM v_counted_comm_step s;
