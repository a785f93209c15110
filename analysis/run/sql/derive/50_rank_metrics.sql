-- Metrics of all ranks together: AllReduce, waits for each other, GPUs beside each other. Of several
-- communicators the one at which most time was lost. Of steps the value in the middle; of what is spent
-- around collectives the mean over steps that count and GPUs.
INSERT INTO metric
WITH lost AS (
  SELECT s.lost_gpu_ns, s.time_saved_per_step_ns, s.straggler_rank, s.why, s.clock_error_ns,
    row_number() OVER (ORDER BY s.lost_gpu_ns DESC, s.comm) AS place
  FROM skew s
), stagger AS (
  SELECT a.stagger_ns AS value, row_number() OVER (ORDER BY a.stagger_ns) AS place, count(*) OVER () AS steps
  FROM across a WHERE a.stagger_ns IS NOT NULL
), one_by_one AS (
  SELECT a.sequential_index AS value, row_number() OVER (ORDER BY a.sequential_index) AS place,
    count(*) OVER () AS steps
  FROM across a WHERE a.sequential_index IS NOT NULL
), uneven AS (
  SELECT a.imbalance AS value, row_number() OVER (ORDER BY a.imbalance) AS place, count(*) OVER () AS steps
  FROM across a WHERE a.imbalance IS NOT NULL
), around AS (
  SELECT count(*) AS steps, sum(s.pack_ns) AS pack_ns, sum(s.unpack_ns) AS unpack_ns,
    count(s.start_delay_ns) AS with_delay, sum(s.start_delay_ns) AS start_delay_ns
  FROM comm_step s JOIN gpu u ON u.gpu_id = s.gpu_id
    JOIN v_counted_step c ON c.rank_id = u.rank_id AND c.step = s.step
), figure AS (
  SELECT 'lost_gpu_ns' AS name, CAST(l.lost_gpu_ns AS DOUBLE) AS value, l.why FROM lost l WHERE l.place = 1
  UNION ALL
  SELECT 'straggler_saved_ns', l.time_saved_per_step_ns, coalesce(l.why, 'no rank holds the others back')
  FROM lost l WHERE l.place = 1
  UNION ALL
  SELECT 'pack_ns', CAST(a.pack_ns AS DOUBLE) / a.steps, 'no timed step in which something is reduced'
  FROM around a
  UNION ALL
  SELECT 'unpack_ns', CAST(a.unpack_ns AS DOUBLE) / a.steps, 'no timed step in which something is reduced'
  FROM around a
  UNION ALL
  SELECT 'start_delay_ns', CAST(a.start_delay_ns AS DOUBLE) / nullif(a.with_delay, 0),
    CASE WHEN a.steps > 0 THEN 'not recorded: the source does not say what waits for what'
         ELSE 'no timed step in which something is reduced' END
  FROM around a
  UNION ALL
  SELECT 'stagger_p50_ns', min(CASE WHEN s.place * 100 >= s.steps * 50 THEN s.value END), NULL FROM stagger s
  UNION ALL
  SELECT 'sequential_index', min(CASE WHEN o.place * 100 >= o.steps * 50 THEN o.value END), NULL
  FROM one_by_one o
  UNION ALL
  SELECT 'imbalance', min(CASE WHEN n.place * 100 >= n.steps * 50 THEN n.value END), NULL FROM uneven n
  UNION ALL
  SELECT 'allreduce_ratio_to_params', a.ratio_to_params, a.why FROM allreduce_check a
  UNION ALL
  SELECT 'allreduce_measured_ns', a.measured_ns, a.why FROM allreduce_check a
  UNION ALL
  SELECT 'allreduce_expected_ns', a.expected_ns, a.why FROM allreduce_check a
)
SELECT d.name, 'run', 0, CAST(f.value AS DOUBLE), d.unit, d.kind, d.version, NULL, NULL, NULL,
  (SELECT l.clock_error_ns FROM lost l WHERE l.place = 1),
  CASE WHEN f.value IS NOT NULL THEN NULL
       WHEN f.why IS NOT NULL THEN f.why
       WHEN d.formula_section = '5' THEN 'no AllReduce, or no parameters or bandwidth given'
       WHEN d.formula_section = '6' THEN 'no collective in which ranks meet'
       ELSE 'fewer than two GPUs, or no steps that all have' END
FROM metric_definition d LEFT JOIN figure f ON f.name = d.name
WHERE d.formula_section IN ('5', '7') OR d.name IN ('lost_gpu_ns', 'straggler_saved_ns',
                                                          'start_delay_ns');
