"""Each rank of a training has a context on the first GPU besides its own, as programs have that take a GPU
before they choose theirs: no figure is another."""
import json
import pathlib
import sys
import tempfile
import unittest

import box

sys.path.insert(0, str(box.ROOT / "examples" / "cases"))
import gallery  # noqa: E402  pylint: disable=wrong-import-position

STRAY = """
def setup(job):
    if job.rank > 0:
        first = type(job.gpu)(0, 1000, 1 << 20)
        first.launch("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_tn__300us")
        first.wait()
        job.gpu.use()
"""
KNOBS = {"GPUSIM_DEVICES": 4, "GPUSIM_SLOW": "0:1.3"}


class Stray(unittest.TestCase):
    def report(self, more):
        with tempfile.TemporaryDirectory(prefix="gpushim-stray-") as name:
            case, traces = pathlib.Path(name, "case"), pathlib.Path(name, "traces")
            case.mkdir()
            loop = (gallery.FOLDER / "straggler" / "case.py").read_text(encoding="utf-8")
            (case / "case.py").write_text(loop + more, encoding="utf-8")
            gallery.trace([gallery.FOLDER / "loop.py", case, 30], traces, KNOBS)
            said = gallery.run([gallery.part("gpushim"), "report", traces])
            self.assertIn("4 of 4 ranks   4 x Simulated GPU", said)
            return json.loads(gallery.run([gallery.part("gpushim"), "report", "--json", traces]))

    def test_the_straggler_and_all_shares_are_the_same(self):
        without, with_them = self.report(""), self.report(STRAY)
        self.assertEqual([finding["id"] for finding in without["findings"]], ["straggler"])
        self.assertEqual([finding["id"] for finding in with_them["findings"]], ["straggler", "unused_gpus"])
        for report in (without, with_them):
            self.assertIn("rank 0", report["findings"][0]["title"])
            self.assertEqual(report["shared_gpus"], [])
        used = [gpu for gpu in with_them["gpus"] if gpu["busy_share"] is not None]
        self.assertEqual([gpu["rank"] for gpu in used], [0, 1, 2, 3])
        for one, other in zip(without["gpus"], used):
            for share in ("productive_share", "waiting_for_peer_share", "idle_share"):
                self.assertAlmostEqual(one[share], other[share], delta=0.01)
        self.assertEqual([report["skew"]["straggler"]["rank"] for report in (without, with_them)], [0, 0])
        for figure in ("lost_gpu_ns", "imbalance"):
            self.assertAlmostEqual(with_them["skew"][figure] / without["skew"][figure], 1, delta=0.02)
