"""Streams that share hardware queues overlap under the shim as they do without. On the stepped clock."""
import box
import preload
import stepped_program

STEPS = 300
BODY = r"""
    const int others = count > 1 ? atoi(words[1]) : 1, is_stuck = count > 2;
    CUstream other[64];
    for (int i = 0; i < others; ++i) MUST(cuStreamCreate(&other[i], CU_STREAM_NON_BLOCKING));
    for (int step = 0; step < STEPS; ++step) {
        for (int i = 0; i < others; ++i) launch("beside__700us", other[i]);
        launch("compute__300us", stream);
        launch("compute__200us", stream);
        if (is_stuck && step == STEPS / 2) launch("stuck__8000000us", stream);
        for (int i = 0; is_stuck && step == STEPS / 2 && i < 80; ++i) {
            gpusim_advance_ns(100000000);
            cuStreamQuery(stream);
        }
        MUST(cuCtxSynchronize());
        gpusim_advance_ns(1000000);
    }
""".replace("STEPS", str(STEPS))


class Queues(preload.PreloadCase):
    def times(self, others, *words, **knobs):
        """What the device took for the whole program, without us and with us; and the trace."""
        program = stepped_program.compiled(self.folder, BODY)
        knobs = {**stepped_program.STEPPED, "GPUSIM_QUEUES": 1, **knobs}
        for trace in self.traces():
            trace.unlink()
        box.run([program, others, *words], {**knobs, "GPUSIM_TRUTH": self.folder / "alone"})
        self.traced([program, others, *words], GPUSIM_TRUTH=self.folder / "truth", GPUSHIM_BUDGET="100%",
                    **knobs)
        return self.steps_ns("alone"), self.steps_ns("truth"), self.the_trace()

    def steps_ns(self, truth):
        """Of each step, from the first kernel's begin to the last one's end."""
        kernels = [o for o in box.read_truth(self.folder / truth) if o.op == "kernel"]
        size = len(kernels) // STEPS
        steps = [kernels[i:i + size] for i in range(0, len(kernels), size)]
        return [max(k.end_ns for k in step) - min(k.start_ns for k in step) for step in steps]

    @staticmethod
    def note(trace):
        return preload.query(trace, "SELECT why FROM refusal WHERE api = 'CUDA_DEVICE_MAX_CONNECTIONS'")

    @staticmethod
    def timed(trace):
        return dict(preload.query(trace, "SELECT kernel, count(device_dur_ns) FROM v_launch GROUP BY 1"))

    def test_where_all_share_one_queue_nothing_is_timed(self):
        alone, traced, trace = self.times(1, CUDA_DEVICE_MAX_CONNECTIONS=1)
        self.assertLess(max(alone), 750_000)
        self.assertLess(max(traced), 750_000)
        self.assertEqual(set(self.timed(trace).values()), {0})
        self.assertIn("share the only hardware queue", self.note(trace)[0][0])
        report = box.run([preload.ANALYZER, "report", trace], sim=False).stdout
        self.assertIn("share the only hardware queue", " ".join(report.split()))

    def test_one_queue_for_one_stream_is_enough(self):
        *_, trace = self.times(0, CUDA_DEVICE_MAX_CONNECTIONS=1)
        self.assertEqual(self.note(trace), [])
        self.assertGreater(sum(self.timed(trace).values()), 2 * STEPS - 300)

    def test_few_queues_are_for_the_stream_that_is_used_most(self):
        alone, traced, trace = self.times(2, CUDA_DEVICE_MAX_CONNECTIONS=4)
        self.assertEqual(max(abs(a - t) for a, t in zip(alone, traced)) // 50_000, 0)
        timed = self.timed(trace)
        self.assertEqual(timed["beside__700us"], 0)
        self.assertGreater(timed["compute__300us"] + timed["compute__200us"], STEPS)
        self.assertIn("only the stream that is used most", self.note(trace)[0][0])

    def test_more_streams_than_queues(self):
        *_, trace = self.times(12)
        timed = self.timed(trace)
        self.assertGreater(timed["compute__300us"] + timed["compute__200us"], 2 * STEPS - 100)
        self.assertLess(timed["beside__700us"], 100)
        self.assertIn("only the stream that is used most", self.note(trace)[0][0])

    def test_an_event_that_waits_for_long_where_queues_are_shared_is_the_last(self):
        *_, trace = self.times(2, "stuck", CUDA_DEVICE_MAX_CONNECTIONS=4)
        timed = self.timed(trace)
        self.assertGreater(timed["compute__300us"], 10)
        self.assertLess(timed["compute__300us"], STEPS / 2 + 2)
        self.assertIn(("cuEventQuery", "streams share hardware queues, and one of gpushim's events waited "
                       "for 5 s: nothing is timed from now on"),
                      preload.query(trace, "SELECT api, why FROM refusal"))

    def test_where_each_stream_has_a_queue_an_event_may_wait(self):
        *_, trace = self.times(2, "stuck")
        self.assertEqual(preload.query(trace, "SELECT * FROM refusal"), [])
        self.assertGreater(self.timed(trace)["compute__300us"], STEPS - 20)

    def test_as_many_queues_as_are_needed(self):
        alone, traced, trace = self.times(3)
        self.assertEqual(self.note(trace), [])
        self.assertEqual(max(abs(a - t) for a, t in zip(alone, traced)) // 50_000, 0)
        self.assertGreater(sum(self.timed(trace).values()), 5 * STEPS - 50)
