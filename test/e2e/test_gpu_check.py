"""scripts/gpu-check, rehearsed on the box: right as it is, and wrong as soon as one hook is missing."""
import os
import subprocess
import sys

import box
import preload

CHECK = box.ROOT / "scripts" / "gpu-check"
# A hook that is taken away, and the row that has to notice.
ROWS = (
    ("cuLaunchKernel", "driver"),
    ("cuMemcpyHtoDAsync_v2", "driver"),
    ("cuMemsetD32Async", "driver"),
    ("cuMemcpyDtoHAsync_v2", "linked"),
    ("cuGetProcAddress_v2", "lookups"),
    ("cuEventSynchronize", "driver"),
    ("ncclAllReduce", "train"),
    ("cuLaunchKernel", "windows"),
    ("cuLaunchKernel", "governor"),
    ("cuLaunchKernel", "cost"),
)


class GpuCheck(preload.PreloadCase):
    def check(self, part="", library=preload.SHIM):
        env = {**os.environ, "GPU_CHECK_REHEARSE": "1", "GPU_CHECK_LIBRARY": str(library)}
        return subprocess.run([sys.executable, CHECK, part], env=env, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_the_rehearsal_is_right_and_marked(self):
        results = set((box.ROOT / "test" / "gpu").glob("results/*"))
        done = self.check()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        first, *rows, last = done.stdout.splitlines()
        self.assertIn("Simulated GPU   no GPU: a rehearsal, no figure is a GPU's", first)
        self.assertRegex(last, r"^\d+ right, 0 wrong, \d skipped, \d+ s$")
        self.assertGreaterEqual(len(rows), 20)
        self.assertEqual([row for row in rows if not row.startswith("box  ")], [])
        self.assertEqual(set((box.ROOT / "test" / "gpu").glob("results/*")), results)

    def test_without_one_hook_it_is_wrong(self):
        for export, row in ROWS:
            with self.subTest(hook=export, row=row):
                done = self.check(row, preload.without_row(export, self.folder / "libgpushim.so"))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"box  WRONG   {row}", done.stdout)


if __name__ == "__main__":
    preload.unittest.main()
