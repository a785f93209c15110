-- Which kernels ran, one by one: from where, how long, on tensor cores, and how much did they compute?
-- For a trace; the columns are PyProf's, of the first 1,000 launches. `trace` is the innermost range (NVTX)
-- of their thread, else the line of Python that was most often seen to launch this kernel; `sil` is the time
-- on the GPU in ns; `tc` is 1 where the name says tensor cores: NULL may be either, and the report knows more
-- names. `flops` and `bytes` are of the product of cuBLAS that it was launched in, in the row of its longest
-- kernel.
WITH
  launches AS (
    SELECT l.enter_ns, l.thread_id, l.kernel, l.device_dur_ns,
      (SELECT g.enter_ns FROM gemm g WHERE g.enter_ns <= l.enter_ns AND g.thread_id = l.thread_id
       ORDER BY g.enter_ns DESC LIMIT 1) AS product_ns
    FROM v_launch l WHERE l.captured = 0 AND l.failed = 0 AND l.unfinished = 0
    ORDER BY l.enter_ns LIMIT 1000),
  computed AS (
    SELECT l.*, g.flops, g.bytes,
      row_number() OVER (PARTITION BY g.enter_ns ORDER BY l.device_dur_ns DESC, l.enter_ns) AS by_length
    FROM launches l LEFT JOIN v_gemm g ON g.enter_ns = l.product_ns AND l.enter_ns < g.exit_ns),
  lines AS (
    SELECT kernel, file || ':' || line AS line,
      row_number() OVER (PARTITION BY kernel ORDER BY samples DESC, file, line) AS nth
    FROM v_kernel_line)
SELECT row_number() OVER (ORDER BY c.enter_ns) AS idx,
  -- Of the ranges around it the innermost ends first.
  coalesce((SELECT n.text FROM marker m JOIN name n ON n.id = m.name_id
            WHERE m.enter_ns > c.enter_ns AND m.enter_ns - m.dur_ns <= c.enter_ns
            AND m.kind = 'pop' AND m.thread_id = c.thread_id ORDER BY m.enter_ns LIMIT 1), p.line) AS trace,
  c.device_dur_ns AS sil,
  CASE WHEN c.kernel LIKE '%tensorop%' OR c.kernel GLOB '*[shdz]884*' OR c.kernel GLOB '*[shc]1688*'
    OR c.kernel GLOB '*[sh]16816*' OR c.kernel LIKE '%xmma%f16f16%' OR c.kernel LIKE '%nvjet%'
    THEN 1 END AS tc,
  CASE WHEN c.by_length = 1 THEN c.flops END AS flops,
  CASE WHEN c.by_length = 1 THEN c.bytes END AS bytes,
  c.kernel
FROM computed c LEFT JOIN lines p ON p.kernel = c.kernel AND p.nth = 1
ORDER BY c.enter_ns;
