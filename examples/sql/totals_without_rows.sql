-- What was called in all, also where rows are gone because the trace is bounded?
-- For a trace. Sums are kept from the first second on, whatever happened to the rows.
SELECT api, kind, calls, round(sum_ns / 1e6, 3) AS sum_ms, round(max_ns / 1e3, 2) AS longest_us, failed
FROM v_api_total
ORDER BY sum_ns DESC, api
LIMIT 20;
