-- How long does a launch take, and how long until the kernel starts?
-- For a run. call: inside the launch call. latency: from the call's begin to the start, where the GPU had
-- nothing to do. behind: from when the work before it in its stream was over, to its start.
SELECT r.rank, s.stream, l.count AS launches,
  l.api_p50_ns AS call_p50_ns,
  l.on_empty AS on_an_empty_gpu, l.latency_p50_ns, l.latency_p95_ns,
  l.behind, l.behind_p50_ns,
  l.full_queue AS waited_for_a_full_queue
FROM launch_stat l
JOIN gpu g ON g.gpu_id = l.gpu_id
JOIN rank r ON r.rank_id = g.rank_id
LEFT JOIN stream_stat s ON s.gpu_id = l.gpu_id AND s.stream_id = l.stream_id
ORDER BY r.rank, g.device_id, l.count DESC;
