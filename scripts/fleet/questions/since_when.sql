-- Since when the steps of a model on a kind of machine take longer or shorter: of the days that have two days
-- or more on either side of their beginning, the one at which the means before and after differ most, where
-- that is 5 % or more. How many GPUs a run had has to be the same: another number is another series.
--
--   step   ▂ ▂ ▃ ▂ | ▆ ▆ ▅ ▆     since the fifth day, ratio 2.3
WITH days AS (
  SELECT r.model, r.machine, r.gpus, r.day, avg(m.value) AS step_ns
  FROM fleet_run r JOIN metric m ON m.run = r.run
  WHERE m.name = 'step_median_ns' AND m.scope = 'run' AND m.value IS NOT NULL
  GROUP BY r.model, r.machine, r.gpus, r.day
), sides AS (
  SELECT d.model, d.machine, d.gpus, d.day,
    avg(d.step_ns) OVER (PARTITION BY d.model, d.machine, d.gpus ORDER BY d.day
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns,
    avg(d.step_ns) OVER (PARTITION BY d.model, d.machine, d.gpus ORDER BY d.day
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS after_ns,
    row_number() OVER (PARTITION BY d.model, d.machine, d.gpus ORDER BY d.day) AS nth,
    count(*) OVER (PARTITION BY d.model, d.machine, d.gpus) AS days
  FROM days d
), ratios AS (
  SELECT s.model, s.machine, s.gpus, s.day, s.before_ns, s.after_ns,
    s.after_ns / CAST(s.before_ns AS DOUBLE) AS ratio
  FROM sides s WHERE s.nth > 2 AND s.nth < s.days
), most AS (
  SELECT r.model, r.machine, r.gpus, r.day, r.before_ns, r.after_ns, r.ratio,
    row_number() OVER (PARTITION BY r.model, r.machine, r.gpus
      ORDER BY CASE WHEN r.ratio < 1 THEN 1 / CAST(r.ratio AS DOUBLE) ELSE r.ratio END DESC, r.day) AS place
  FROM ratios r
)
SELECT m.model, m.machine, m.gpus, m.day AS since, m.before_ns, m.after_ns, m.ratio
FROM most m WHERE m.place = 1 AND (m.ratio >= 1.05 OR m.ratio <= 1 / CAST(1.05 AS DOUBLE))
ORDER BY m.ratio DESC, m.model, m.machine, m.gpus
