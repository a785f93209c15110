-- of: ranks, unit: ns, kind: measured, version: 3
-- words: per step, if the slowest rank were like the others
-- absent: no collective in which ranks meet
SELECT l.time_saved_per_step_ns AS value, coalesce(l.why, 'no rank holds the others back') AS why
FROM v_most_lost l;
