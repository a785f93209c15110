-- What several metrics are read from.

-- Steps that count, each with its place by duration among those of its rank and among those of the run.
CREATE VIEW v_step_place AS
SELECT c.rank_id, c.step, c.dur_ns,
  row_number() OVER (PARTITION BY c.rank_id ORDER BY c.dur_ns) AS place,
  count(*) OVER (PARTITION BY c.rank_id) AS steps,
  row_number() OVER (ORDER BY c.dur_ns) AS run_place,
  count(*) OVER () AS run_steps
FROM v_counted_step c WHERE c.is_slice = 0;

-- Steps that count, all together; of a rank that has none, be there slices, no row.
CREATE VIEW v_step_sum AS
SELECT c.rank_id, count(*) AS steps, sum(c.dur_ns) AS dur_ns
FROM v_counted_step c WHERE c.is_slice = 0 GROUP BY c.rank_id;

-- How long the step in the middle is, and one that 95 of 100 do not exceed: of each rank, and of the run
-- (rank_id NULL).
CREATE VIEW v_step_length AS
SELECT p.rank_id, min(CASE WHEN p.place * 100 >= p.steps * 50 THEN p.dur_ns END) AS median_ns,
  min(CASE WHEN p.place * 100 >= p.steps * 95 THEN p.dur_ns END) AS p95_ns
FROM v_step_place p GROUP BY p.rank_id
UNION ALL
SELECT NULL, min(CASE WHEN p.run_place * 100 >= p.run_steps * 50 THEN p.dur_ns END),
  min(CASE WHEN p.run_place * 100 >= p.run_steps * 95 THEN p.dur_ns END)
FROM v_step_place p;

-- Ranks whose host is ahead of the GPU: what most steps launch takes a GPU twice as long as these steps take,
-- and as they launch at least half of what all do on average, it runs in others: those in which the host
-- waits. Then the step in the middle is not how long a step takes; all of them together are. Collectives are
-- left out: they take as long as peers let them wait.
CREATE VIEW v_host_ahead AS
WITH placed AS (  -- as v_step_place, without the places of all ranks together
  SELECT rank_id, dur_ns, row_number() OVER (PARTITION BY rank_id ORDER BY dur_ns) AS place,
    count(*) OVER (PARTITION BY rank_id) AS steps
  FROM v_counted_step WHERE is_slice = 0
), middle AS (
  SELECT rank_id, min(iif(place * 2 >= steps, dur_ns, NULL)) AS dur_ns, avg(dur_ns) AS mean_ns
  FROM placed GROUP BY rank_id HAVING avg(dur_ns) > 2 * min(iif(place * 2 >= steps, dur_ns, NULL))
), work AS (
  SELECT w.gpu_id,
    sum(CAST(w.executed AS DOUBLE) * CAST(w.timed_ns AS DOUBLE) / CAST(w.timed AS DOUBLE)) AS ns
  FROM v_kernel_work w JOIN kernel k ON k.gpu_id = w.gpu_id AND k.name = w.name
  WHERE w.timed > 0 AND coalesce(k.family, '') <> 'comm' GROUP BY w.gpu_id
), launched AS (
  SELECT u.rank_id, g.gpu_id, avg(iif(c.dur_ns <= m.dur_ns, g.operations, NULL)) AS in_most,
    avg(g.operations) AS in_all
  FROM middle m JOIN gpu u ON u.rank_id = m.rank_id JOIN gpu_step g ON g.gpu_id = u.gpu_id
    JOIN v_counted_step c ON c.rank_id = m.rank_id AND c.step = g.step
  GROUP BY u.rank_id, g.gpu_id
)
SELECT m.rank_id, m.dur_ns AS median_ns, m.mean_ns, max(w.ns / s.whole_steps) AS work_ns
FROM middle m JOIN launched l ON l.rank_id = m.rank_id JOIN work w ON w.gpu_id = l.gpu_id
  JOIN v_run_steps s ON s.rank_id = m.rank_id
WHERE w.ns > 2 * m.dur_ns * s.whole_steps AND 2 * l.in_most >= l.in_all
GROUP BY m.rank_id;

-- Of a server, each token's distance to the next by its place, of its rank and of all.
CREATE VIEW v_token_place AS
SELECT t.rank_id, t.gap_ns,
  row_number() OVER (PARTITION BY t.rank_id ORDER BY t.gap_ns) AS place,
  count(*) OVER (PARTITION BY t.rank_id) AS gaps,
  row_number() OVER (ORDER BY t.gap_ns) AS run_place,
  count(*) OVER () AS run_gaps
FROM v_token_gap t WHERE t.gap_ns IS NOT NULL;

-- Of each GPU the stream with the most launches: percentiles of several streams do not add up.
CREATE VIEW v_busiest_stream AS
SELECT gpu_id, stream_id, api_p50_ns, latency_p50_ns, latency_p95_ns, runway_p5_ns
FROM (SELECT *, row_number() OVER (PARTITION BY gpu_id ORDER BY count DESC, stream_id) AS place
      FROM launch_stat)
WHERE place = 1;

-- The communicator at which most time was lost.
CREATE VIEW v_most_lost AS
SELECT comm, lost_gpu_ns, time_saved_per_step_ns, clock_error_ns, why
FROM (SELECT *, row_number() OVER (ORDER BY lost_gpu_ns DESC, comm) AS place FROM skew) WHERE place = 1;

-- comm_step of steps that count.
CREATE VIEW v_counted_comm_step AS
SELECT s.gpu_id, s.step, s.pack_ns, s.unpack_ns, s.start_delay_ns
FROM comm_step s JOIN gpu u ON u.gpu_id = s.gpu_id
  JOIN v_counted_step c ON c.rank_id = u.rank_id AND c.step = s.step;

-- One row: samples of all ranks a second, by the mean step; and what that is in floating-point operations a
-- second of each GPU, by what the options say of a sample.
CREATE VIEW v_model_rate AS
WITH a_step AS (
  SELECT c.step, sum(c.samples) AS samples FROM v_counted_step c
  WHERE c.is_slice = 0 AND c.samples IS NOT NULL GROUP BY c.step
), said AS (
  SELECT max(CASE WHEN r.key = 'samples_per_step' THEN CAST(r.value AS DOUBLE) END) AS samples,
    max(CASE WHEN r.key = 'flops_per_sample' THEN CAST(r.value AS DOUBLE) END) AS flops,
    max(CASE WHEN r.key = 'params' THEN CAST(r.value AS DOUBLE) END) AS params,
    max(CASE WHEN r.key = 'tokens_per_sample' THEN CAST(r.value AS DOUBLE) END) AS tokens,
    max(CASE WHEN r.key = 'ranks_seen' THEN CAST(r.value AS DOUBLE) END) AS ranks_seen,
    max(CASE WHEN r.key = 'ranks_expected' THEN CAST(r.value AS DOUBLE) END) AS ranks_expected
  FROM run r
), mean AS (
  -- Times of damaged traces are some centuries: a sum of several ranks' is no whole number then.
  SELECT sum(CAST(s.dur_ns AS DOUBLE)) / sum(s.steps) AS dur_ns FROM step_sum s
), counted AS (
  SELECT CAST(sum(a.samples) AS DOUBLE) / CAST(count(*) AS DOUBLE) AS samples FROM a_step a
), rate AS (
  SELECT coalesce(s.samples, c.samples) AS samples_per_step,
    coalesce(s.samples, c.samples) * 1000000000 / nullif(m.dur_ns, 0) AS samples_per_s,
    coalesce(s.flops, 6 * s.params * s.tokens) AS flops_per_sample, s.ranks_seen, s.ranks_expected
  FROM said s JOIN mean m ON 1 = 1 JOIN counted c ON 1 = 1
), peak AS (
  SELECT CAST(count(*) AS DOUBLE) AS gpus, count(g.peak_flops_per_s) AS known,
    sum(g.peak_flops_per_s) AS flops_per_s, min(g.why) AS why
  FROM gpu_peak g
), why AS (
  SELECT CASE WHEN r.flops_per_sample IS NULL
      THEN '--flops-per-sample, or --params and --tokens-per-sample, was not given'
    WHEN r.samples_per_s IS NULL THEN 'steps or samples per step are not known'
    WHEN r.ranks_seen < r.ranks_expected THEN 'ranks are missing: how many GPUs there were is not known'
    WHEN p.gpus = 0 THEN 'no GPU ran kernels' END AS text
  FROM rate r JOIN peak p ON 1 = 1
)
SELECT r.samples_per_s, r.flops_per_sample, p.gpus,
  CASE WHEN w.text IS NULL THEN r.samples_per_s * r.flops_per_sample / nullif(p.gpus, 0)
  END AS flops_per_gpu_s,
  w.text AS why_no_flops,
  CASE WHEN p.gpus > 0 AND p.known = p.gpus THEN p.flops_per_s / p.gpus END AS peak_flops_per_gpu_s,
  coalesce(w.text, p.why) AS why_no_share, r.samples_per_step,
  CASE WHEN r.samples_per_s IS NULL THEN 'steps or samples per step are not known'
    WHEN r.ranks_seen < r.ranks_expected THEN 'ranks are missing: how many GPUs there were is not known'
  END AS why_not_of_job
FROM rate r JOIN peak p ON 1 = 1 JOIN why w ON 1 = 1;

-- One row: operations a second of each GPU by the products of cuBLAS and cuBLASLt that were recorded. A lower
-- bound, because what other kernels compute is not counted; so not known unless products are recorded of
-- nearly all the time of matrix products and convolutions. `covered_share` is NULL where nobody can judge it.
CREATE VIEW v_product_rate AS
WITH sums AS (
  SELECT CAST(count(*) AS DOUBLE) AS gpus, sum(p.products) AS products, sum(p.flops_per_s) AS flops_per_s,
    CAST(sum(p.covered_ns) AS DOUBLE) / nullif(sum(p.matrix_ns), 0) AS covered_share,
    sum(p.covered_ns) AS covered_ns, sum(p.unjudged) AS unjudged, sum(p.unknown_graphs) AS unknown_graphs,
    max(p.why_of_graphs) AS why_of_graphs,
    count(g.peak_flops_per_s) AS known, sum(g.peak_flops_per_s) AS peak_flops_per_s, min(g.why) AS why
  FROM gpu_peak g JOIN v_gpu_product p ON p.gpu_id = g.gpu_id
), judged AS (
  SELECT CASE
    WHEN s.unknown_graphs > 0
      THEN
        'it is not recorded what a launched graph runs: conditional or many nodes, or made before recording'
    WHEN s.unjudged > 0 AND s.covered_ns > 0
      THEN coalesce(s.why_of_graphs,
        'not all matrix products are recorded, and those in graphs have no device times to weigh them by')
    END AS why_not
  FROM sums s
), why AS (
  SELECT CASE WHEN s.gpus = 0 THEN 'no GPU ran kernels'
    WHEN s.flops_per_s IS NULL THEN 'no steps were found'
    WHEN s.products = 0 THEN coalesce(s.why_of_graphs, j.why_not,
      'no product of cuBLAS or cuBLASLt is recorded in the steps')
    WHEN j.why_not IS NOT NULL THEN j.why_not
    WHEN coalesce(s.covered_share, 0) < 0.9 THEN coalesce(s.why_of_graphs,
      'too few of the matrix products and convolutions are recorded products of cuBLAS or cuBLASLt')
    END AS text, j.why_not
  FROM sums s JOIN judged j ON 1 = 1
), each AS (
  SELECT CASE WHEN w.text IS NULL THEN CAST(s.flops_per_s AS DOUBLE) / nullif(s.gpus, 0)
    END AS flops_per_gpu_s,
    CASE WHEN s.known = s.gpus THEN CAST(s.peak_flops_per_s AS DOUBLE) / nullif(s.gpus, 0)
    END AS peak_flops_per_gpu_s, CASE WHEN w.why_not IS NULL THEN s.covered_share END AS covered_share,
    s.why AS why_no_peak, w.text AS why_no_flops, w.why_not AS why_no_covered
  FROM sums s JOIN why w ON 1 = 1
)
SELECT e.flops_per_gpu_s, e.peak_flops_per_gpu_s, e.covered_share, e.why_no_flops,
  coalesce(e.why_no_flops, e.why_no_peak, CASE WHEN e.flops_per_gpu_s > e.peak_flops_per_gpu_s
    THEN 'it is more than the peak of the precision that the names of kernels tell' END) AS why_no_share,
  coalesce(e.why_no_covered, 'no matrix product or convolution ran') AS why_no_covered
FROM each e;

-- The energy of a mean step that counts, at the mean power of the time between two samples of NVML.
CREATE VIEW v_gpu_energy AS
SELECT e.gpu_id, CAST(e.energy_j * m.mean_ns AS DOUBLE) / nullif(e.span_ns, 0) AS joules_per_step,
  CAST(e.energy_j * 1000000000 AS DOUBLE) / nullif(e.span_ns, 0) AS power_w, e.power_limit_w,
  coalesce(e.why, CASE WHEN m.mean_ns IS NULL THEN 'no steps were found' END) AS why,
  CAST(e.most_j * m.mean_ns AS DOUBLE) / nullif(e.most_span_ns, 0) AS joules_per_step_high
FROM gpu_energy e JOIN gpu u ON u.gpu_id = e.gpu_id LEFT JOIN (
  SELECT s.rank_id, CAST(s.dur_ns AS DOUBLE) / s.steps AS mean_ns FROM step_sum s
) m ON m.rank_id = u.rank_id;

-- What GPUs without joules_per_step say.
CREATE VIEW v_unknown_energy AS
SELECT e.gpu_id, e.why FROM v_gpu_energy e WHERE e.why IS NOT NULL;
