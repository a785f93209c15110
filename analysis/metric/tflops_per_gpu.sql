-- of: ranks, unit: TFLOP/s, kind: estimated, version: 1
-- words: operations of the model that each GPU does in a second, by what a sample is said to take
-- absent: steps or samples per step are not known
SELECT m.flops_per_gpu_s * 1e-12 AS value, m.why_no_flops AS why FROM v_model_rate m;
