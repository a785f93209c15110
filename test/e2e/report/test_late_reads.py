"""A server that reads the tokens of an iteration while the next one runs: a prompt takes as long as its own
work does, and not as long as the decode that was running when it was launched."""
import json
import sys

import box
import cli
import in_memory

LOOP = box.ROOT / "examples" / "cases" / "loop.py"
CASE = """
from gpu import US, advance
from served import Model

SERVES = True


def setup(job):
    gpu = job.gpu
    job.made.update(model=Model(job), reader=gpu.make_stream(),
                    sampled=[gpu.make_event(), gpu.make_event()], read=[gpu.make_event(), gpu.make_event()])


def step(job):
    gpu, made, own = job.gpu, job.made, job.number % 2
    made["model"].work(job.number, prompt_every=20)
    gpu.record(made["sampled"][own])
    gpu.wait_for(made["sampled"][own], made["reader"])
    gpu.copy_out(64, stream=made["reader"])
    gpu.record(made["read"][own], made["reader"])
    waits_for = own if {at_once} or job.number == 0 else 1 - own
    gpu.wait_on_host(made["read"][waits_for])
    advance(600 * US)
"""
PREFILL_MS, DECODE_MS = 8.66, 1.09


class LateReads(cli.Case):
    def medians(self, at_once):
        folder = in_memory.folder_of(type(self)) / f"at_once_{at_once}"
        folder.mkdir()
        (folder / "case.py").write_text(CASE.replace("{at_once}", str(at_once)), encoding="utf-8")
        loop = (sys.executable, "-B", LOOP, folder, 160)
        done = box.run([cli.GPUSHIM, "run", "-o", folder / "traces" / "%r.%p.db", "--", *loop],
                       {"GPUSIM_CLOCK": "stepped", "GPUSHIM_BUDGET": "100%"})
        self.assertEqual(done.returncode, 0, done.stderr)
        serving = json.loads(self.gpushim("report", folder / "traces", "--json").stdout)["serving"]
        lengths = {kind["kind"]: kind["length"]["p50_ns"] / 1e6 for kind in serving["kinds"]}
        return lengths, serving["between_tokens"]

    def test_a_prompt_takes_as_long_as_its_own_work(self):
        medians, tokens = self.medians(False)
        self.assertAlmostEqual(medians["prefill"], PREFILL_MS, delta=0.1)
        self.assertAlmostEqual(medians["decode"], DECODE_MS, delta=0.05)
        self.assertAlmostEqual(tokens["p99_ns"] / 1e6, PREFILL_MS + DECODE_MS, delta=0.1)

    def test_one_that_reads_at_once_has_its_host_in_it(self):
        medians, _ = self.medians(True)
        self.assertAlmostEqual(medians["prefill"], PREFILL_MS + 0.6, delta=0.1)
        self.assertAlmostEqual(medians["decode"], DECODE_MS + 0.6, delta=0.05)
