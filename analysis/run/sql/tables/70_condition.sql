-- What NVML showed of GPUs, once a second while steps ran (without steps: in the whole run). Clocks and power
-- are means, but for the highest. A row where there was a sample.
CREATE TABLE nvml_stat (
  gpu_id INTEGER PRIMARY KEY,
  samples INTEGER,
  idle_samples INTEGER,          -- clocks were low because nothing ran
  throttled_samples INTEGER,     -- clocks were held back by one of `throttle`'s reasons
  free_sm_mhz REAL,              -- neither; NULL: no such sample
  throttled_sm_mhz REAL,
  power_w REAL, power_max_w REAL, temperature_max_c REAL,
  -- By NVML a GPU is in use while any kernel runs, of whatever process; memory is everybody's, too.
  use_share REAL, memory_share_max REAL
);
-- Why clocks were held back. A sample may have several reasons.
CREATE TABLE throttle (
  gpu_id INTEGER,
  reason TEXT,                   -- application_clocks, power_cap, hardware, sync_boost, thermal,
                                 -- hardware_thermal, power_brake, display
  samples INTEGER, sm_mhz REAL,
  PRIMARY KEY (gpu_id, reason)
);

-- Samples of NVML by the step in which they were taken, at most 100,000 of a GPU. Of short steps most have
-- none.
CREATE TABLE step_nvml (
  gpu_id INTEGER, step INTEGER,
  sm_mhz REAL, power_w REAL, temperature_c REAL
);

-- What a GPU drew by its own counter between two samples of NVML: the first and the last while steps ran
-- (without steps: of the run). Of the whole board, whatever process uses it. A row for each GPU.
CREATE TABLE gpu_energy (
  gpu_id INTEGER PRIMARY KEY,
  energy_j REAL, span_ns INTEGER,  -- NULL: see why
  power_limit_w REAL,              -- the highest that was seen; NULL: not recorded
  why TEXT,
  -- Where two samples lie around steps: what the GPU drew at most while these ran, and how long they took.
  -- NULL: energy_j is known, or not even that.
  most_j REAL, most_span_ns INTEGER
);

-- What changed over time, for drawing: of each GPU and `what` at most 120 parts of the same length.
CREATE TABLE gpu_curve (
  gpu_id INTEGER,
  what TEXT,                     -- allocated_bytes (device memory, by the program; of the rows that are
                                 -- there); as NVML has them: gpu_busy_percent, memory_used_bytes, power_mw,
                                 -- sm_mhz, temperature_c
  from_ns INTEGER,               -- where the part begins
  mean REAL, most REAL,          -- of NVML's samples in it; of bytes that were held, by time
  PRIMARY KEY (gpu_id, what, from_ns)
);
