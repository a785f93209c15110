"""gpushim import kineto: the memory that a file takes, beside that of a small one."""
import unittest

import importing
import kineto_made

MIB = 1024  # in KiB, as the kernel says it


class Memory(importing.Import):
    def peak(self, path):
        return importing.peak_kib("kineto", path, self.folder / "run.db")

    def test_a_gpu_of_its_own_for_each_kernel_takes_no_more_than_a_host_full_of_them(self):
        trace = kineto_made.Trace()
        for i in range(1000):
            trace.kernel("gemm", i * 20_000 + 1_000, i * 20_000 + 5_000, 10_000)
        one = self.peak(trace.write(self.folder / "one.json.gz"))
        for i, event in enumerate(event for event in trace.events if event["cat"] == "kernel"):
            event["pid"] = event["args"]["device"] = i
        self.assertLess(self.peak(trace.write(self.folder / "each.json.gz")) - one, 64 * MIB)


if __name__ == "__main__":
    unittest.main()
