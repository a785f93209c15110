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

-- Copies that are alike, with the rate they reached beside the best of their kind and memory on the GPU.
CREATE VIEW v_copy_stat AS
SELECT r.rank, g.uuid AS gpu, s.stream, c.*,
  CASE WHEN c.sum_ns > 0 THEN c.timed_bytes * 1e9 / c.sum_ns END AS achieved_bytes_per_s,
  max(c.best_bytes_per_s) OVER (PARTITION BY c.gpu_id, c.kind, c.source, c.target) AS best_seen_bytes_per_s
FROM copy_stat c
LEFT JOIN stream_stat s ON s.gpu_id = c.gpu_id AND s.stream_id = c.stream_id
LEFT JOIN gpu g ON g.gpu_id = c.gpu_id
LEFT JOIN rank r ON r.rank_id = g.rank_id;
