"""gpushim doctor: what would be seen, what not, and what was."""
import json
import shutil
import subprocess
import unittest

import box
import cli


class Doctor(cli.Case):
    def findings(self, *words, expect=0, knobs=None, sim=True):
        done = self.gpushim("doctor", "--json", *words, expect=expect, knobs=knobs, sim=sim)
        findings = json.loads(done.stdout)["findings"]
        return {finding["what"]: (finding["verdict"], finding["text"]) for finding in findings}

    def test_what_is_here(self):
        findings = self.findings(knobs={"GPUSIM_DEVICES": 3})
        self.assertEqual({verdict for verdict, _ in findings.values()} - {"LIMITED"}, {"ok"})
        self.assertIn("CUDA 13.0", findings["driver"][1])
        self.assertEqual(findings["GPUs"][1], "3: Simulated GPU, Simulated GPU, Simulated GPU")

    def test_what_would_not_be_seen(self):
        static, raised = self.folder / "plain", self.folder / "raised"
        (self.folder / "a.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        subprocess.run(["gcc", "-static", "-o", static, self.folder / "a.c"], check=True)
        shutil.copy("/bin/true", raised)
        raised.chmod(0o4755)
        reasons = {static: "linked statically", raised: "is setuid", "no-such": "not found"}
        for program, why in reasons.items():
            with self.subTest(program):
                self.assertIn(why, self.findings("--", str(program), expect=3)["program"][1])
        self.assertEqual(self.findings(knobs={"GPUSHIM_DISABLE": 1}, expect=3)["switch"][0], "BLIND")
        nowhere = self.findings(knobs={"GPUSHIM_OUT": "/nowhere/x.db"}, expect=3)["output"]
        self.assertEqual(nowhere, ("BLIND", "/nowhere is not writable: set GPUSHIM_OUT"))

    def test_a_program_without_cuda_leaves_nothing_to_see(self):
        self.assertIn("left no trace", self.findings("--", "true", expect=3)["tried"][1])

    def test_hooks_are_counted_as_the_driver_counts_them(self):
        truth = self.folder / "truth"
        answer = json.loads(self.gpushim("doctor", "--hooks", "--json", "--", str(cli.LINKED), sim=True,
                                         knobs={"GPUSIM_TRUTH": f"{truth}.%p"}).stdout)
        counts = {}
        for path in self.folder.glob("truth.*.counts"):
            counts.update({name: count for name, count in box.read_counts(path).items() if count.entered})
        recorded = {hook["name"]: hook["calls"] for hook in answer["hooks"]}
        self.assertGreater(len(recorded), 300)
        self.assertEqual(recorded["cuLaunchKernel"], 9)
        for name in ("cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord",
                     "cuStreamCreate", "cuMemAlloc_v2", "cuModuleLoadData", "cuStreamSynchronize"):
            self.assertEqual(recorded[name], counts[name].entered - counts[name].nested, name)
        self.assertEqual(recorded["cuGraphLaunch"], 0)


if __name__ == "__main__":
    unittest.main()
