-- of: ranks, unit: ns, kind: measured, version: 1
-- words: transfers of the gradients in a step
-- absent: no AllReduce, or no parameters or bandwidth given
SELECT a.measured_ns AS value, a.why FROM allreduce_check a;
