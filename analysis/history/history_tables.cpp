// What a history holds.
#include "history_db.h"

namespace gpushim::analysis {

const char kHistoryTables[] = R"sql(
-- A row for each night. Texts of runs are as they were.
CREATE TABLE night (
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
CREATE TABLE night_trace (night INTEGER, uuid TEXT, PRIMARY KEY (night, uuid));
CREATE TABLE night_around (night INTEGER, nth INTEGER, kind TEXT, name TEXT, value TEXT,
  PRIMARY KEY (night, nth));
-- Steps that are alike: group 0 is all that count. Of each, at most 2,000 lengths, evenly taken.
CREATE TABLE night_group (night INTEGER, nth INTEGER, signature INTEGER, steps INTEGER, is_split INTEGER,
  PRIMARY KEY (night, nth));
CREATE TABLE night_step (night INTEGER, nth_group INTEGER, nth INTEGER, ns INTEGER,
  PRIMARY KEY (night, nth_group, nth)) WITHOUT ROWID;
CREATE TABLE night_part (night INTEGER, nth_group INTEGER, part TEXT, ns REAL,
  PRIMARY KEY (night, nth_group, part));
-- Of a step of a GPU; the 1,000 in which most time goes.
CREATE TABLE night_kernel (night INTEGER, name TEXT, launches REAL, ns REAL, PRIMARY KEY (night, name));
CREATE TABLE night_finding (night INTEGER, nth INTEGER, finding TEXT, low_ns REAL, high_ns REAL,
  PRIMARY KEY (night, nth));
-- Nights as people read them.
CREATE VIEW v_night AS
SELECT n.night, datetime(n.started_real_ns / 1000000000, 'unixepoch') AS started, n.name, n.series, n.place,
  n.result, round(n.step_ns / 1e6, 3) AS step_ms,
  round(n.samples_per_step * 1e9 / n.step_ns, 1) AS samples_per_s,
  n.busy_share, n.cause, n.first_bad, n.why
FROM night n ORDER BY n.started_real_ns, n.night;
)sql";

}  // namespace gpushim::analysis
