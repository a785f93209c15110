-- of: ranks, unit: ns, kind: measured, version: 1
-- words: per step, collectives could have started and their own GPU computed
-- absent: no timed step in which something is reduced
SELECT CAST(sum(s.start_delay_ns) AS DOUBLE) / nullif(count(s.start_delay_ns), 0) AS value,
  CASE WHEN count(*) > 0 THEN 'not recorded: the source does not say what waits for what' END AS why
FROM v_counted_comm_step s;
