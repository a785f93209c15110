-- of: ranks, unit: ns, kind: measured, version: 2
-- words: per step, if the slowest rank were as fast as the next
-- absent: no collective in which ranks meet
SELECT l.time_saved_per_step_ns AS value, coalesce(l.why, 'no rank holds the others back') AS why
FROM v_most_lost l;
