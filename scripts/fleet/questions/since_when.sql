-- Since when the steps of a model on a kind of machine take longer or shorter: of the days that have two days
-- or more on either side of their beginning, the one at which the means before and after differ most, where
-- that is 5 % or more. How many ranks a run has, by what they say themselves, has to be the same: another
-- number is another series, and a rank that was not seen makes none. A day counts once, however many runs it
-- has.
--
--   step   ▂ ▂ ▃ ▂ | ▆ ▆ ▅ ▆     since the fifth day, ratio 2.3
WITH days AS (
  SELECT r.model, r.machine, coalesce(r.ranks_expected, r.ranks_seen) AS ranks, r.day,
    avg(m.value) AS step_ns, sum(r.ranks_seen) AS ranks_seen,
    CASE WHEN count(r.ranks_expected) = count(*) THEN sum(r.ranks_expected) END AS ranks_expected
  FROM fleet_run r JOIN metric m ON m.run = r.run
  WHERE m.name = 'step_median_ns' AND m.scope = 'run' AND m.value IS NOT NULL
  GROUP BY r.model, r.machine, coalesce(r.ranks_expected, r.ranks_seen), r.day
), sides AS (
  SELECT d.model, d.machine, d.ranks, d.day,
    avg(d.step_ns) OVER (PARTITION BY d.model, d.machine, d.ranks ORDER BY d.day
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns,
    avg(d.step_ns) OVER (PARTITION BY d.model, d.machine, d.ranks ORDER BY d.day
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS after_ns,
    row_number() OVER (PARTITION BY d.model, d.machine, d.ranks ORDER BY d.day) AS nth,
    count(*) OVER (PARTITION BY d.model, d.machine, d.ranks) AS days,
    sum(d.ranks_seen) OVER (PARTITION BY d.model, d.machine, d.ranks) AS ranks_seen,
    CASE WHEN count(d.ranks_expected) OVER (PARTITION BY d.model, d.machine, d.ranks)
              = count(*) OVER (PARTITION BY d.model, d.machine, d.ranks)
         THEN sum(d.ranks_expected) OVER (PARTITION BY d.model, d.machine, d.ranks) END AS ranks_expected
  FROM days d
), ratios AS (
  SELECT s.model, s.machine, s.ranks, s.day, s.before_ns, s.after_ns, s.ranks_seen, s.ranks_expected,
    s.after_ns / CAST(s.before_ns AS DOUBLE) AS ratio
  FROM sides s WHERE s.nth > 2 AND s.nth < s.days
), most AS (
  SELECT r.model, r.machine, r.ranks, r.day, r.before_ns, r.after_ns, r.ratio, r.ranks_seen,
    r.ranks_expected,
    row_number() OVER (PARTITION BY r.model, r.machine, r.ranks
      ORDER BY CASE WHEN r.ratio < 1 THEN 1 / CAST(r.ratio AS DOUBLE) ELSE r.ratio END DESC, r.day) AS place
  FROM ratios r
)
SELECT m.model, m.machine, m.ranks, m.day AS since, m.before_ns, m.after_ns, m.ratio,
  CAST(m.ranks_seen AS BIGINT) AS ranks_seen, CAST(m.ranks_expected AS BIGINT) AS ranks_expected
FROM most m WHERE m.place = 1 AND (m.ratio >= 1.05 OR m.ratio <= 1 / CAST(1.05 AS DOUBLE))
ORDER BY m.ratio DESC, m.model, m.machine, m.ranks
