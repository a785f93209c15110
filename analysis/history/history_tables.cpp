// What a history holds.
#include "history_db.h"

namespace gpushim::analysis {

const char kHistoryTables[] = R"sql(
-- A row for each night. Texts of runs are as they were.
CREATE TABLE IF NOT EXISTS night (
  night INTEGER PRIMARY KEY,
  name TEXT,                   -- of the folder or file that was analysed
  started_real_ns INTEGER,
  series TEXT,                 -- tags that tell jobs apart
  place TEXT,                  -- GPU, GPUs, driver, NCCL
  result TEXT,                 -- ok, regressed, inconclusive
  why TEXT, cause TEXT,
  is_base INTEGER,             -- later nights may be compared with it
  is_accepted INTEGER,         -- a person said that this is how it is now
  base INTEGER, first_bad INTEGER,     -- nights; NULL: none
  step_ns REAL,                -- the typical step's median; NULL: no steps
  samples_per_step REAL, busy_share REAL, productive_share REAL, launches_per_step REAL,
  gpus INTEGER, ranks_seen INTEGER, ranks_expected INTEGER, is_whole INTEGER,
  why_no_steps TEXT
);
-- Which traces it was made of, so that none is judged twice.
CREATE TABLE IF NOT EXISTS night_trace (night INTEGER, uuid TEXT, PRIMARY KEY (night, uuid));
CREATE TABLE IF NOT EXISTS night_around (night INTEGER, nth INTEGER, kind TEXT, name TEXT, value TEXT,
  PRIMARY KEY (night, nth));
-- Steps that are alike: group 0 is all that count. Of each, at most 2,000 lengths, evenly taken.
CREATE TABLE IF NOT EXISTS night_group (night INTEGER, nth INTEGER, signature INTEGER, steps INTEGER,
  is_split INTEGER, PRIMARY KEY (night, nth));
CREATE TABLE IF NOT EXISTS night_step (night INTEGER, nth_group INTEGER, nth INTEGER, ns INTEGER,
  PRIMARY KEY (night, nth_group, nth)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS night_part (night INTEGER, nth_group INTEGER, part TEXT, ns REAL,
  PRIMARY KEY (night, nth_group, part));
-- Of a step of a GPU; the 1,000 in which most time goes.
CREATE TABLE IF NOT EXISTS night_kernel (night INTEGER, name TEXT, launches REAL, ns REAL,
  PRIMARY KEY (night, name));
CREATE TABLE IF NOT EXISTS night_finding (night INTEGER, nth INTEGER, finding TEXT, low_ns REAL, high_ns REAL,
  PRIMARY KEY (night, nth));
-- Of a program that serves: from each token to the next, and its iterations by kind.
CREATE TABLE IF NOT EXISTS night_serving (night INTEGER PRIMARY KEY, token_p50_ns INTEGER,
  token_p95_ns INTEGER, token_p99_ns INTEGER, iterations_per_s REAL, prefill_share REAL);
CREATE TABLE IF NOT EXISTS night_iteration (night INTEGER, kind TEXT, iterations INTEGER, time_share REAL,
  p50_ns INTEGER, PRIMARY KEY (night, kind));
-- What GPUs were used for: NULL: not known. mfu: by what a sample takes; product_mfu: by recorded products.
CREATE TABLE IF NOT EXISTS night_use (night INTEGER PRIMARY KEY, mfu REAL, product_mfu REAL,
  joules_per_step REAL);
-- Nights as people read them.
DROP VIEW IF EXISTS v_night;
CREATE VIEW v_night AS
SELECT n.night, datetime(n.started_real_ns / 1000000000, 'unixepoch') AS started, n.name, n.series, n.place,
  n.result, round(n.step_ns / 1e6, 3) AS step_ms,
  round(n.samples_per_step * 1e9 / n.step_ns, 1) AS samples_per_s,
  n.busy_share, n.cause, n.first_bad, n.why,
  round(s.token_p50_ns / 1e6, 3) AS token_ms, round(s.token_p95_ns / 1e6, 3) AS token_p95_ms, s.prefill_share,
  u.mfu, u.product_mfu, u.joules_per_step
FROM night n LEFT JOIN night_serving s ON s.night = n.night LEFT JOIN night_use u ON u.night = n.night
ORDER BY n.started_real_ns, n.night;
)sql";

}  // namespace gpushim::analysis
