-- How far may times be off?
-- For a run. gpu: between a GPU's times and those of its host; host: to the first host, by collectives in
-- which both met. NULL: it was not measured; hosts that are one and the same have no row in clock_offset.
SELECT r.rank, r.host, r.level AS device_times,
  r.clock_error_ns AS gpu_error_ns,
  o.point_ns AS host_offset_ns,
  o.low_ns AS host_offset_low_ns, o.high_ns AS host_offset_high_ns
FROM rank r
LEFT JOIN clock_offset o ON o.host = r.host
ORDER BY r.clock_error_ns DESC, r.rank;
