-- of: ranks, unit: ratio, kind: measured, version: 1
-- words: parameters that a step reduced, over those given
-- absent: no AllReduce, or no parameters or bandwidth given
SELECT a.ratio_to_params AS value, a.why FROM allreduce_check a;
