-- of: ranks, unit: ns, kind: inferred, version: 1
-- words: per step, copies behind the reduction before the optimizer begins
-- absent: no timed step in which something is reduced
SELECT CAST(sum(s.unpack_ns) AS DOUBLE) / count(*) AS value, NULL AS why FROM v_counted_comm_step s;
