-- What only traces of other tools have.
-- What a thread that launches was inside of, as its framework told; spans of a thread lie apart.
CREATE TABLE host_span (
  enter_ns INTEGER PRIMARY KEY,
  dur_ns INTEGER NOT NULL,
  thread_id INTEGER NOT NULL,
  inside INTEGER NOT NULL,   -- 1 the loading of a batch, 2 the optimizer, 3 an operator, 4 Python
    -- otherwise, 6 a frame that waits for the device, 7 memory that is allocated
  stage INTEGER              -- of 1, if names tell: 1 waits for workers, 2 reads, 3 decodes, 4 transforms
    -- samples, 5 puts them together, 6 copies
);
-- What a thread was in when it launched a kernel: the innermost operator and the innermost module.
CREATE TABLE launch_operator (
  enter_ns INTEGER PRIMARY KEY,  -- of the launch
  operator_id INTEGER,           -- name.id; NULL: in none, or not told; so are the others
  module_id INTEGER,             -- of backward that of the operator in forward
  pass INTEGER,                  -- 1 forward, 2 backward
  forward_id INTEGER             -- of backward the operator that it belongs to, by its sequence number
);
