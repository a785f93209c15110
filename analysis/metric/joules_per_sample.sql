-- of: ranks, unit: J, kind: measured, version: 1
-- words: energy of all GPUs in a step, over the samples in the step
-- absent: NVML told no energy
SELECT CASE WHEN r.why_not_of_job IS NULL AND p.gpus > 0 AND p.known = p.gpus
    THEN CAST(p.joules AS DOUBLE) / r.samples_per_step END AS value,
  coalesce(r.why_not_of_job, p.why) AS why
FROM v_model_rate r JOIN (
  SELECT count(*) AS gpus, count(e.joules_per_step) AS known, sum(e.joules_per_step) AS joules,
    min(e.why) AS why
  FROM gpu_peak g LEFT JOIN v_gpu_energy e ON e.gpu_id = g.gpu_id
) p ON 1 = 1;
