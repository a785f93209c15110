-- of: gpu, unit: J, kind: measured, version: 1
-- words: energy of a mean step, by the counter of the GPU's board
-- absent: NVML told no energy
-- unknown: v_unknown_energy
SELECT e.gpu_id, e.joules_per_step AS value FROM v_gpu_energy e WHERE e.joules_per_step IS NOT NULL;
