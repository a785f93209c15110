-- Since which run the steps of a model on a kind of machine take longer or shorter: of the runs that have two
-- runs or more before them, and one or more behind them, the one at which the means before and from it on
-- differ most, where that is 5 % or more. Runs are in the order in which they started, so a change within a
-- day is seen; since is the day of that run (UTC), and since_started_ns its start. How many ranks a run has,
-- by what they say themselves, has to be the same: another number is another series, and a rank that was not
-- seen makes none.
--
--   step of each run   ▂ ▂ ▃ | ▆ ▆ ▅     since the fourth run, ratio 2.3
--   day                1 1 2   2 3 3     which is the second one of day 2
WITH steps AS (
  SELECT r.model, r.machine, coalesce(r.ranks_expected, r.ranks_seen) AS ranks, r.day, r.run,
    r.started_ns, r.ranks_seen, r.ranks_expected, m.value AS step_ns
  FROM fleet_run r JOIN metric m ON m.run = r.run
  WHERE m.name = 'step_median_ns' AND m.scope = 'run' AND m.value IS NOT NULL
), sides AS (
  SELECT s.model, s.machine, s.ranks, s.day, s.run, s.started_ns,
    avg(s.step_ns) OVER (PARTITION BY s.model, s.machine, s.ranks ORDER BY s.day, s.started_ns, s.run
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns,
    avg(s.step_ns) OVER (PARTITION BY s.model, s.machine, s.ranks ORDER BY s.day, s.started_ns, s.run
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS after_ns,
    row_number() OVER (PARTITION BY s.model, s.machine, s.ranks ORDER BY s.day, s.started_ns, s.run) AS nth,
    count(*) OVER (PARTITION BY s.model, s.machine, s.ranks) AS runs,
    sum(s.ranks_seen) OVER (PARTITION BY s.model, s.machine, s.ranks) AS ranks_seen,
    CASE WHEN count(s.ranks_expected) OVER (PARTITION BY s.model, s.machine, s.ranks)
              = count(*) OVER (PARTITION BY s.model, s.machine, s.ranks)
         THEN sum(s.ranks_expected) OVER (PARTITION BY s.model, s.machine, s.ranks) END AS ranks_expected
  FROM steps s
), ratios AS (
  SELECT s.model, s.machine, s.ranks, s.day, s.run, s.started_ns, s.nth, s.before_ns, s.after_ns,
    s.ranks_seen, s.ranks_expected, s.after_ns / CAST(s.before_ns AS DOUBLE) AS ratio
  FROM sides s WHERE s.nth > 2 AND s.nth < s.runs
), most AS (
  SELECT r.model, r.machine, r.ranks, r.day, r.run, r.started_ns, r.before_ns, r.after_ns, r.ratio,
    r.ranks_seen, r.ranks_expected,
    row_number() OVER (PARTITION BY r.model, r.machine, r.ranks
      ORDER BY CASE WHEN r.ratio < 1 THEN 1 / CAST(r.ratio AS DOUBLE) ELSE r.ratio END DESC, r.nth) AS place
  FROM ratios r
)
SELECT m.model, m.machine, m.ranks, m.day AS since, m.run AS since_run, m.started_ns AS since_started_ns,
  m.before_ns, m.after_ns, m.ratio,
  CAST(m.ranks_seen AS BIGINT) AS ranks_seen, CAST(m.ranks_expected AS BIGINT) AS ranks_expected
FROM most m WHERE m.place = 1 AND (m.ratio >= 1.05 OR m.ratio <= 1 / CAST(1.05 AS DOUBLE))
ORDER BY m.ratio DESC, m.model, m.machine, m.ranks
