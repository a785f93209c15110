-- of: steps, unit: 1/s, kind: measured, version: 2
-- words: samples of all ranks in a step, over the mean step
-- absent: steps or samples per step are not known
SELECT 'run' AS scope, 0 AS id, m.samples_per_s AS value, NULL AS why FROM v_model_rate m;
