-- Kernels of each GPU, with what people compare.
CREATE VIEW v_kernel AS
SELECT r.rank, g.uuid AS gpu, k.gpu_id, k.name,
  k.launches + k.graph_launches AS executed,        -- in the whole run, by itself and in graphs
  k.launches, k.graph_launches, k.timed, k.sum_ns,
  k.union_ns,                                       -- of those that ran at the same time only once
  CASE WHEN k.timed > 0 THEN k.sum_ns * 1.0 / k.timed END AS mean_ns,
  k.p50_ns, k.min_ns, k.max_ns,
  k.sum_ns * 1.0 / nullif(sum(k.sum_ns) OVER (PARTITION BY k.gpu_id), 0) AS share,  -- of kernel time
  CASE WHEN k.timed > 0 THEN k.small * 1.0 / k.timed END AS small_share,
  k.small_grid, k.small_grid_ns,                    -- with fewer blocks than the GPU has multiprocessors
  k.overlapped, k.alone_p50_ns,
  k.tax_ns,                                         -- what running beside collectives cost it
  k.family, k.precision, k.mixed, k.tensor_core, k.eligible, k.alignment, k.library, k.comm_operation,
  k.comm_source
FROM kernel k
LEFT JOIN gpu g ON g.gpu_id = k.gpu_id
LEFT JOIN rank r ON r.rank_id = g.rank_id;

-- What kernels did in all steps of the run (v_run_steps.whole_steps), without what was launched outside of
-- them: warm-up, tuning, evaluation before the first mark. Of a run without steps, all that they did. timed
-- and timed_ns are those that tell how long one takes; is_guessed: in steps none has device times, so that
-- others, of a start-up, stand for them, which may have had more to do, or less.
CREATE VIEW v_kernel_work AS
SELECT k.gpu_id, k.name,
  coalesce(k.in_steps * w.times, k.launches + coalesce(k.graph_launches, 0)) AS executed,
  CASE WHEN w.times NOTNULL AND k.timed_in_steps > 0 THEN k.timed_in_steps
    WHEN w.times NOTNULL AND k.in_steps = 0 THEN 0 ELSE k.timed END AS timed,
  CASE WHEN w.times NOTNULL AND k.timed_in_steps > 0 THEN k.in_steps_ns
    WHEN w.times NOTNULL AND k.in_steps = 0 THEN 0 ELSE k.sum_ns END AS timed_ns,
  w.times NOTNULL AND k.in_steps > 0 AND k.timed_in_steps = 0 AND k.timed > 0 AS is_guessed
FROM kernel k LEFT JOIN step_work w ON w.gpu_id = k.gpu_id;

-- Operations of recorded products, by steps that count.
CREATE VIEW v_product_step AS
SELECT u.gpu_id, c.rank_id, c.step, c.number, c.dur_ns, coalesce(p.products, 0) AS products,
  coalesce(p.flops, 0.0) AS flops
FROM gpu u JOIN v_counted_step c ON c.rank_id = u.rank_id
LEFT JOIN product_step p ON p.gpu_id = u.gpu_id AND p.step = c.step
WHERE c.is_slice = 0;

-- Of each GPU (of one that processes share, together) what recorded products come to. A kernel counts with
-- its mean time for each launch of the run, by itself and in graphs; one that was never timed counts with the
-- mean of the others. Not so where kernels in graphs were never timed, which may be most of the work: what
-- share is covered is then known only if all of it is, or nothing.
CREATE VIEW v_gpu_product AS
WITH who AS (
  SELECT u.gpu_id, coalesce(s.shared_id, u.gpu_id) AS shared_id
  FROM gpu u LEFT JOIN shared_gpu s ON s.gpu_id = u.gpu_id
), rate AS (
  SELECT u.gpu_id, coalesce(d.products, 0) AS products,
    coalesce(d.flops, 0.0) * 1e9 / nullif(s.dur_ns, 0) AS flops_per_s
  FROM gpu u JOIN step_sum s ON s.rank_id = u.rank_id LEFT JOIN (
    SELECT p.gpu_id, sum(p.products) AS products, sum(p.flops) AS flops
    FROM product_step p JOIN gpu g ON g.gpu_id = p.gpu_id
      JOIN v_counted_step c ON c.rank_id = g.rank_id AND c.step = p.step
    WHERE c.is_slice = 0 GROUP BY p.gpu_id
  ) d ON d.gpu_id = u.gpu_id
), matrix AS (
  SELECT k.gpu_id, k.launches + coalesce(k.graph_launches, 0) AS launches, coalesce(p.launches, 0) AS inside,
    coalesce(k.graph_launches, 0) > 0 AND coalesce(k.timed, 0) = 0 AS is_untimed,
    coalesce(CASE WHEN k.timed > 0 THEN k.sum_ns * 1.0 / k.timed END,
      (SELECT sum(o.sum_ns) * 1.0 / nullif(sum(o.timed), 0) FROM kernel o
       WHERE o.family IN ('gemm', 'convolution')), 1.0) AS each_ns
  FROM kernel k LEFT JOIN kernel_in_product p ON p.gpu_id = k.gpu_id AND p.name = k.name
  WHERE k.family IN ('gemm', 'convolution')
), covered AS (
  SELECT gpu_id, sum(launches * each_ns) AS matrix_ns, sum(min(inside, launches) * each_ns) AS covered_ns,
    max(is_untimed) * sum(max(launches - inside, 0)) AS unjudged
  FROM matrix GROUP BY gpu_id
), graph AS (
  SELECT gpu_id, sum(CASE WHEN matrix_kernels IS NULL THEN launches ELSE 0 END) AS unknown_graphs,
    max(CASE WHEN matrix_kernels > 0 THEN why END) AS why
  FROM graph_product GROUP BY gpu_id
)
SELECT w.shared_id AS gpu_id,
  sum(r.products) AS products,       -- in steps that count
  sum(r.flops_per_s) AS flops_per_s, -- in these steps; NULL: there are none
  coalesce(sum(c.matrix_ns), 0.0) AS matrix_ns,   -- of matrix products and convolutions, in the whole run
  coalesce(sum(c.covered_ns), 0.0) AS covered_ns, -- of these, of recorded products of cuBLAS and cuBLASLt
  -- launches of others, where what share of the time they are cannot be judged; 0: it can
  coalesce(sum(c.unjudged), 0) AS unjudged,
  coalesce(sum(g.unknown_graphs), 0) AS unknown_graphs,  -- launches; what they run is not recorded
  max(g.why) AS why_of_graphs                     -- why products of graphs are not known; NULL: they are
FROM who w LEFT JOIN rate r ON r.gpu_id = w.gpu_id LEFT JOIN covered c ON c.gpu_id = w.gpu_id
LEFT JOIN graph g ON g.gpu_id = w.gpu_id
GROUP BY w.shared_id;

-- Copies that are alike, with the rate they reached beside the best of their kind and memory on the GPU.
CREATE VIEW v_copy_stat AS
SELECT r.rank, g.uuid AS gpu, s.stream, c.*,
  CASE WHEN c.sum_ns > 0 THEN c.timed_bytes * 1e9 / c.sum_ns END AS achieved_bytes_per_s,
  max(c.best_bytes_per_s) OVER (PARTITION BY c.gpu_id, c.kind, c.source, c.target) AS best_seen_bytes_per_s
FROM copy_stat c
LEFT JOIN stream_stat s ON s.gpu_id = c.gpu_id AND s.stream_id = c.stream_id
LEFT JOIN gpu g ON g.gpu_id = c.gpu_id
LEFT JOIN rank r ON r.rank_id = g.rank_id;
