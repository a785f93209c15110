-- of: ranks, unit: ns, kind: predicted, version: 1
-- words: the same by bytes and bandwidth
-- absent: no AllReduce, or no parameters or bandwidth given
SELECT a.expected_ns AS value, a.why FROM allreduce_check a;
