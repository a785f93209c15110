"""A profile of a program that used the GPU for a moment: the report says that figures are of that moment."""
import re

import cli
import kineto_made

MS = 1_000_000


class ShortUse(cli.Case):
    def report(self, set_up_ns, kernels=4):
        trace = kineto_made.Trace()
        trace.call("cudaHostAlloc", 0, set_up_ns)
        for number in range(kernels):
            at = set_up_ns + number * 100_000
            trace.kernel("vectorized_elementwise_kernel", at, at + 20_000, 30_000)
        self.gpushim("import", "kineto", trace.write(self.folder / "t.json.gz"), "-o", self.folder / "run.db")
        return " ".join(self.gpushim("report", self.folder / "run.db").stdout.split())

    def test_a_moment_of_a_long_start(self):
        said = self.report(300 * MS)
        self.assertRegex(said, r"the GPU was used for \d+ us of 300 ms: figures are of that time")
        self.assertIn("; a single call, cudaHostAlloc, took 300 ms", said)
        self.assertIn("TRUST fair", said)
        self.assertNotIn("[small_kernels]", said)  # there are four
        self.assertNotIn("[launch_bound]", said)

    def test_launches_are_of_the_same_second_as_idle_time(self):
        counts = [int(re.search(r"for ([\d,]+) launches", self.report(ms * MS, 24)).group(1).replace(",", ""))
                  for ms in (30, 300)]
        self.assertEqual(*counts)

    def test_what_sets_up_the_device_is_long(self):
        trace = kineto_made.Trace()
        trace.kernel("vectorized_elementwise_kernel", 0, 20_000, 30_000)
        trace.call("cudaHostAlloc", 100 * MS, 10 * MS)
        trace.call("cudaFreeHost", 200 * MS, 10 * MS)
        self.gpushim("import", "kineto", trace.write(self.folder / "t.json.gz"), "-o", self.folder / "run.db")
        said = " ".join(self.gpushim("report", self.folder / "run.db").stdout.split())
        self.assertIn("which may be a start", said)
        self.assertNotIn("a single call", said)

    def test_most_of_what_was_recorded(self):
        said = self.report(0)
        self.assertNotIn("the GPU was used for", said)
        self.assertIn("STEP none found, of the whole run", said)

    def test_behind_a_start_figures_are_not_of_the_whole_run(self):
        said = self.report(2 * MS)
        self.assertIn("STEP none found, of the 350 us in which the GPU was used", said)
        self.assertIn("; the figures below are of the 350 us in which the GPU was used", said)
