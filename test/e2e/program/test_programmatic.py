"""Programmatic launches overlap with what is before them under the shim as without: no event of ours lies
between. On the stepped clock."""
import json

import box
import preload
import stepped_program

STEPS = 400
BEFORE = r"""
static void launch_as(const char* name, int programmatic) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    attribute.value.programmaticStreamSerializationAllowed = programmatic;
    CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, stream, &attribute, 1};
    MUST(cuLaunchKernelEx(&config, kernel_of(name), 0, 0));
}
"""
BODY = r"""
    for (int step = 0; step < STEPS; ++step) {
        launch_as("alone__30us", 0);
        launch_as("first__40us", 0);
        launch_as("second__50us", 1);
        launch_as("third__60us", 1);
        launch_as("first__40us", 0);
        launch_as("after__20us", 0);
        MUST(cuStreamSynchronize(stream));
        gpusim_advance_ns(4000000);
    }
""".replace("STEPS", str(STEPS))


class Programmatic(preload.PreloadCase):
    def setUp(self):
        super().setUp()
        self.program = stepped_program.compiled(self.folder, BODY, BEFORE)
        self.traced([self.program], GPUSIM_TRUTH=self.folder / "truth", **stepped_program.STEPPED)
        self.trace = self.the_trace()

    @staticmethod
    def overlaps(truth):
        """How many kernels began before the one before them in the stream was over."""
        kernels = [o for o in box.read_truth(truth) if o.op == "kernel"]
        return sum(later.start_ns < sooner.end_ns for sooner, later in zip(kernels, kernels[1:]))

    def test_they_overlap_as_they_do_without_us(self):
        box.run([self.program], {**stepped_program.STEPPED, "GPUSIM_TRUTH": self.folder / "truth.without"})
        self.assertEqual(self.overlaps(self.folder / "truth.without"), 2 * STEPS)
        # An event stood behind "first" and behind "second" until it was seen what may follow them.
        self.assertGreaterEqual(self.overlaps(self.folder / "truth"), 2 * STEPS - 2)

    def test_the_others_have_device_times(self):
        timed = dict(preload.query(self.trace,
                                   "SELECT kernel, count(device_dur_ns) FROM v_launch GROUP BY 1"))
        self.assertGreater(timed["alone__30us"], STEPS - 20)
        self.assertGreater(timed["after__20us"], STEPS - 20)
        self.assertLess(timed["first__40us"] + timed["second__50us"] + timed["third__60us"], 3)
        (durations,), = preload.query(self.trace, """SELECT max(device_dur_ns) FROM v_launch
                                                     WHERE kernel = 'after__20us'""")
        self.assertLess(durations, 30_000)

    def test_the_gpu_is_not_idle_while_they_run(self):
        """What has no times of its own ran between the end of what was before and the start of what was
        behind."""
        box.run([self.program], {**stepped_program.STEPPED, "GPUSIM_TRUTH": self.folder / "truth.without"})
        kernels = [o for o in box.read_truth(self.folder / "truth.without") if o.op == "kernel"]
        busy_ns = until_ns = 0
        for kernel in kernels:
            busy_ns += max(0, kernel.end_ns - max(kernel.start_ns, until_ns))
            until_ns = max(until_ns, kernel.end_ns)
        true = busy_ns / (until_ns - kernels[0].start_ns)
        answer = json.loads(box.run([preload.ANALYZER, "report", "--json", self.trace], sim=False).stdout)
        gpu, = answer["gpus"]
        self.assertAlmostEqual(gpu["productive_share"], true, delta=0.02 * true)
        self.assertLess(gpu["coverage"], 0.6)  # it is an inference, and no more has times for it
        self.assertLess(gpu["open_share"], 0.01)

    def test_the_trace_and_the_report_say_so(self):
        (untimed,), = preload.query(self.trace, "SELECT value FROM meta WHERE key = 'untimed_programmatic'")
        self.assertGreater(untimed, 4 * STEPS - 60)
        self.assertLessEqual(untimed, 4 * STEPS)
        report = box.run([preload.ANALYZER, "report", self.trace], sim=False).stdout
        self.assertIn("programmatic launches, and the operations before them, are not timed",
                      " ".join(report.split()))
        answer = json.loads(box.run([preload.ANALYZER, "report", "--json", self.trace], sim=False).stdout)
        self.assertIn("programmatic", json.dumps(answer))

    def test_a_kernel_that_is_hardly_timed_has_no_share(self):
        """An event stood behind the first of each function: that is no total of all of its launches."""
        answer = json.loads(box.run([preload.ANALYZER, "report", "--json", self.trace], sim=False).stdout)
        kernels = {kernel["name"]: kernel for kernel in answer["kernels"]}
        for name in ("first__40us", "second__50us", "third__60us"):
            self.assertIsNone(kernels[name]["share"], name)
            self.assertTrue(kernels[name]["why"])
        self.assertAlmostEqual(kernels["alone__30us"]["share"], 0.6, delta=0.05)
        self.assertAlmostEqual(answer["kernel_classes"]["hardly_timed_share"], 4 / 6, delta=0.01)
        report = box.run([preload.ANALYZER, "report", self.trace], sim=False).stdout
        said = "of launches are of kernels that were rarely timed; the shares leave these kernels out"
        self.assertIn("67 % " + said, " ".join(report.split()))
        page = self.folder / "page.html"
        box.run([preload.ANALYZER, "report", self.trace, "--html", page], sim=False)
        self.assertTrue("66.7 % " + said in " ".join(page.read_text(encoding="utf-8").split()))
