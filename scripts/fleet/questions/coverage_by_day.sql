-- What was not seen, and what was odd: how many rows of each state, and of how many ranks. One row for each
-- day and state; `example_of` and `example` are the place of one of them and its reason. ranks: of the rows
-- that tell a number; unknown_ranks: how many do not.
WITH placed AS (
  SELECT c.day, c.state, c.ranks, coalesce(c.path, c.run) AS example_of, c.why,
    row_number() OVER (PARTITION BY c.day, c.state
      ORDER BY coalesce(c.path, c.run), coalesce(c.why, ''), coalesce(c.rank, -1)) AS place
  FROM coverage c
)
SELECT p.day, p.state, count(*) AS row_count, CAST(sum(p.ranks) AS BIGINT) AS ranks,
  CAST(sum(CASE WHEN p.ranks IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS unknown_ranks,
  min(CASE WHEN p.place = 1 THEN p.example_of END) AS example_of,
  min(CASE WHEN p.place = 1 THEN p.why END) AS example
FROM placed p GROUP BY p.day, p.state ORDER BY p.day, p.state
