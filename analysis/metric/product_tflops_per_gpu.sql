-- of: ranks, unit: TFLOP/s, kind: measured, version: 2
-- words: operations a second of each GPU by the recorded products of cuBLAS and cuBLASLt: a lower bound
-- absent: no product of cuBLAS or cuBLASLt is recorded
SELECT p.flops_per_gpu_s * 1e-12 AS value, p.why_no_flops AS why FROM v_product_rate p;
