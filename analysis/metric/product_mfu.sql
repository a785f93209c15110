-- of: ranks, unit: ratio, kind: inferred, version: 2
-- words: product_tflops_per_gpu over the peak of the GPU in its kernels' precision: a lower bound
-- absent: no product of cuBLAS or cuBLASLt is recorded
SELECT CASE WHEN p.why_no_share IS NULL
  THEN CAST(p.flops_per_gpu_s AS DOUBLE) / nullif(p.peak_flops_per_gpu_s, 0) END AS value,
  p.why_no_share AS why
FROM v_product_rate p;
