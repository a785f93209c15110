-- of: ranks, unit: ratio, kind: inferred, version: 1
-- words: model FLOPs utilisation: tflops_per_gpu over the peak of the GPU in its kernels' precision
-- absent: steps or samples per step are not known
SELECT CAST(m.flops_per_gpu_s AS DOUBLE) / m.peak_flops_per_gpu_s AS value, m.why_no_share AS why
FROM v_model_rate m;
