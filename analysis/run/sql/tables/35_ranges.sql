-- What the program's own ranges launched (NVTX, record_function, annotations): an operation belongs to every
-- range that was open on its thread when it was launched, also where it ran later. Of the whole run, as it
-- ran, with our events. A range within one of the same name counts as that one. Ranges that launched nothing
-- have no row.
--
--   thread   |── forward ──|── backward ──|
--   GPU        ▒▒    ▒▒▒▒▒▒  ▓▓▓  ▓▓▓▓▓▓▓      forward: span_ns from the first ▒ to the last, of which
--                                              idle_ns nothing ran on that GPU, of whomever
CREATE TABLE range_kernel (
  gpu_id INTEGER, domain TEXT, name TEXT,  -- domain: NVTX's; NULL: the default one, or not NVTX
  ranges INTEGER,                -- that launched something there
  operations INTEGER,            -- kernels, graphs, copies and memsets
  timed INTEGER,                 -- of these, with device times
  sum_ns INTEGER,                -- of these; what runs at the same time counts for each
  whole INTEGER,                 -- ranges in which everything on that GPU was timed
  span_ns INTEGER, idle_ns INTEGER         -- of these; NULL: there are none
);

-- What operators of a framework launched, where another tool's trace tells of them: own kernels only, not
-- those of operators within. pass: forward, backward; NULL: not told. module: the innermost of the model's
-- that was open; of backward that of the operator in forward that it belongs to. forward: that operator, by
-- its sequence number. NULL: not told.
CREATE TABLE operator_kernel (
  gpu_id INTEGER, operator TEXT, module TEXT, pass TEXT, forward TEXT,
  kernels INTEGER, sum_ns INTEGER
);
