-- Kernels by name. What a name says (family and so on) is inferred from it. In pieces: where everything has
-- device times.
CREATE TABLE kernel (
  gpu_id INTEGER, name TEXT,
  launches INTEGER, graph_launches INTEGER,    -- all of the run; executed as part of graphs
  timed INTEGER, sum_ns INTEGER, union_ns INTEGER, min_ns INTEGER, max_ns INTEGER,   -- those in pieces
  small INTEGER,                               -- of them, below twice the launch latency; 0 of collectives
  -- of timed: with fewer blocks than the GPU has multiprocessors; 0 of collectives; NULL: a grid or how many
  -- it has is not recorded
  small_grid INTEGER, small_grid_ns INTEGER,
  overlapped INTEGER, overlapped_ns INTEGER,   -- of timed: ran beside communication
  alone INTEGER, alone_ns INTEGER,             -- … did not
  family TEXT, precision TEXT, mixed TEXT, tensor_core TEXT, eligible INTEGER, alignment TEXT, library TEXT,
  comm_operation TEXT, comm_source TEXT,
  p50_ns INTEGER, squares_ns2 REAL,            -- of timed; the sum of their squares
  alone_p50_ns INTEGER,
  tax_ns INTEGER,                              -- overlapped_ns beyond so many times alone_p50_ns
  invalid INTEGER,                             -- device times that end as they begin: not in timed
  -- by so much sum_ns may be too long: a kernel that began on an empty queue may have begun later
  unsure_ns INTEGER,
  small_grid_filled_ns REAL,                   -- small_grid_ns, each times its blocks for each multiprocessor
  -- called in steps that are known from begin to end, by themselves and in graphs, and those of timed, of the
  -- rows that are there; NULL: the run has no steps
  in_steps INTEGER, timed_in_steps INTEGER, in_steps_ns INTEGER,
  PRIMARY KEY (gpu_id, name)
);

-- Matrix products of cuBLAS and cuBLASLt by the kernel that ran longest in each: those of which all kernels
-- have device times, so none that were captured into a graph.
CREATE TABLE kernel_product (
  gpu_id INTEGER, name TEXT,
  products INTEGER, flops REAL,  -- what the products need, 2 m n k each
  ns INTEGER,                    -- of all kernels of these products
  bytes REAL,                    -- A and B read once, C written once; NULL: of one product it is not known
  PRIMARY KEY (gpu_id, name)
);

-- Launches inside of a call that such a product is recorded of, with device times or without, and by launches
-- of graphs that such calls were captured into: what share of matrix kernels' work it is that products tell.
CREATE TABLE kernel_in_product (
  gpu_id INTEGER, name TEXT, launches INTEGER, PRIMARY KEY (gpu_id, name)
);

-- Products by the step in which their calls launched something, or a graph that they were captured into was
-- launched.
CREATE TABLE product_step (
  gpu_id INTEGER, step INTEGER, products INTEGER, flops REAL, PRIMARY KEY (gpu_id, step)
) WITHOUT ROWID;

-- Launches of graphs by what they run (graph.id of the trace), and the products that were captured into them.
CREATE TABLE graph_product (
  gpu_id INTEGER, graph_id INTEGER,
  launches INTEGER, known INTEGER,  -- of the run; of these, whose products are known (0 products are, too)
  products INTEGER, flops REAL,     -- of all known launches
  matrix_kernels INTEGER,           -- of one launch: matrix products and convolutions; NULL: not recorded
  why TEXT,                         -- why launches are not known
  PRIMARY KEY (gpu_id, graph_id)
) WITHOUT ROWID;

-- What a GPU can do at most in what most of its arithmetic is done in (analysis/kernel/peak.def). A row for
-- each GPU that ran kernels; processes that share a GPU have one, under the first of them.
CREATE TABLE gpu_peak (
  gpu_id INTEGER PRIMARY KEY,
  precision TEXT,                -- of most of the time of eligible kernels; NULL: see why
  precision_share REAL,          -- of that time; NULL: none has device times, and all are of this precision
  peak_flops_per_s REAL,         -- dense, on tensor cores where there are some for it; NULL: see why
  why TEXT
);
