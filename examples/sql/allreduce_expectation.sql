-- Does the AllReduce of the gradients take as long as its bytes need?
-- For a run. slower: 1 is what a ring over the bandwidth takes. bandwidth_source: given, measured (the best
-- that was seen) or topology. efficiency_by says what it is judged by, or why it is not.
SELECT op, dtype, bytes, ranks, count,
  round(transfer_p50_ns / 1e3, 2) AS transfer_us,
  round(expected_ring_ns / 1e3, 2) AS expected_us,
  round(transfer_p50_ns * 1.0 / nullif(expected_ring_ns, 0), 2) AS slower,
  round(busbw_bytes_per_s / 1e9, 1) AS bus_gigabytes_per_s,
  round(bandwidth_bytes_per_s / 1e9, 1) AS of_gigabytes_per_s,
  bandwidth_source, efficiency_by
FROM collective_stat
ORDER BY transfer_sum_ns DESC;
