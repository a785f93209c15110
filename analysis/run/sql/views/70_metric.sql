-- What several metrics are read from.

-- Steps that count, each with its place by duration among those of its rank and among those of the run.
CREATE VIEW v_step_place AS
SELECT c.rank_id, c.step, c.dur_ns,
  row_number() OVER (PARTITION BY c.rank_id ORDER BY c.dur_ns) AS place,
  count(*) OVER (PARTITION BY c.rank_id) AS steps,
  row_number() OVER (ORDER BY c.dur_ns) AS run_place,
  count(*) OVER () AS run_steps
FROM v_counted_step c WHERE c.is_slice = 0;

-- Of each GPU the stream with the most launches: percentiles of several streams do not add up.
CREATE VIEW v_busiest_stream AS
SELECT gpu_id, stream_id, api_p50_ns, latency_p50_ns, latency_p95_ns, runway_p5_ns
FROM (SELECT *, row_number() OVER (PARTITION BY gpu_id ORDER BY count DESC, stream_id) AS place
      FROM launch_stat)
WHERE place = 1;

-- The communicator at which most time was lost.
CREATE VIEW v_most_lost AS
SELECT comm, lost_gpu_ns, time_saved_per_step_ns, clock_error_ns, why
FROM (SELECT *, row_number() OVER (ORDER BY lost_gpu_ns DESC, comm) AS place FROM skew) WHERE place = 1;

-- comm_step of steps that count.
CREATE VIEW v_counted_comm_step AS
SELECT s.gpu_id, s.step, s.pack_ns, s.unpack_ns, s.start_delay_ns
FROM comm_step s JOIN gpu u ON u.gpu_id = s.gpu_id
  JOIN v_counted_step c ON c.rank_id = u.rank_id AND c.step = s.step;
