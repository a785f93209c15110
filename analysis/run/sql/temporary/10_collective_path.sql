-- Only while the run is analysed.

-- What each collective of a rank came after, where the source says what waits for what (pass/work_paths.h).
CREATE TEMP TABLE collective_path (
  rank_id INTEGER, group_id INTEGER,           -- of its calls
  piece INTEGER, launch_ns INTEGER, end_ns INTEGER,   -- without our events, in that piece's time
  kind INTEGER,                                -- of the calls before it
  launch_paths INTEGER,                        -- so many of the paths lead to its launch
  paths BLOB                                   -- WorkPath
);
CREATE INDEX temp.collective_path_of_rank ON collective_path (rank_id);
