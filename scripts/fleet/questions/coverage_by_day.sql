-- What was not seen, and what was odd: how many rows of each state, and of how many ranks. One row for each
-- day and state; `example` is one of their reasons.
SELECT c.day, c.state, count(*) AS row_count, CAST(sum(c.ranks) AS BIGINT) AS ranks,
  min(coalesce(c.path, c.run)) AS example_of, min(c.why) AS example
FROM coverage c GROUP BY c.day, c.state ORDER BY c.day, c.state
