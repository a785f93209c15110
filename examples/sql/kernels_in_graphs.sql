-- Which kernels ran as part of graphs, and how often?
-- For a trace. Counted from what was in each graph when it was launched.
SELECT kernel, launched, in_graphs, executed,
  round(in_graphs * 1.0 / executed, 4) AS share_in_graphs
FROM v_kernel_executed
ORDER BY in_graphs DESC, executed DESC, kernel
LIMIT 20;
