-- Was the GPU held back: clocks, power, temperature and throttling by the minute?
-- For a trace. From NVML's samples; shares are of samples. NULL or no rows: not recorded.
SELECT n.device_id,
  (n.mono_ns - (SELECT value FROM meta WHERE key = 'started_mono_ns')) / 60000000000 AS minute,
  count(*) AS samples,
  round(avg(n.gpu_busy_percent), 1) AS busy_percent,
  round(avg(n.sm_mhz)) AS sm_mhz, min(n.sm_mhz) AS lowest_mhz,
  round(avg(n.power_mw) / 1000) AS watts,
  max(n.temperature_c) AS hottest_c,
  round(avg((CAST(n.throttle_reasons AS INTEGER) & 4) > 0), 3) AS power_cap_share,
  round(avg((CAST(n.throttle_reasons AS INTEGER) & 96) > 0), 3) AS thermal_share,
  round(avg((CAST(n.throttle_reasons AS INTEGER) & 136) > 0), 3) AS hardware_share
FROM v_nvml n
GROUP BY n.device_id, minute
ORDER BY n.device_id, minute;
