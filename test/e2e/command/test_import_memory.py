"""gpushim import kineto: the memory that a file takes, beside that of a small one."""

import importing
import kineto_made

MIB = 1024  # in KiB, as the kernel says it


class Memory(importing.Import):
    def peak(self, path, **how):
        return importing.peak_kib("kineto", path, self.folder / "run.db", **how)

    def test_a_gpu_of_its_own_for_each_kernel_takes_no_more_than_a_host_full_of_them(self):
        trace = kineto_made.Trace()
        for i in range(1000):
            trace.kernel("gemm", i * 20_000 + 1_000, i * 20_000 + 5_000, 10_000)
        one = self.peak(trace.write(self.folder / "one.json.gz"))
        for i, event in enumerate(event for event in trace.events if event["cat"] == "kernel"):
            event["pid"] = event["args"]["device"] = i
        each = trace.write(self.folder / "each.json.gz")
        self.assertLess(self.peak(each, expect=3) - one, 64 * MIB)
        said = self.gpushim("import", "kineto", each, "-o", self.folder / "run.db", expect=3).stderr
        self.assertIn("each.json.gz: more GPUs or streams than a host has: of 744 operations it is not known"
                      " which one ran them", said)
