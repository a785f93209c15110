"""TensorBoard itself, with PyTorch's profiler plugin, opens what `gpushim export chrome` writes: what it
serves to its page is what the file has."""
import collections
import json
import os
import re
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import chrome_rules
import exporting
import optional
import trained

PYTHON = os.environ.get("GPUSHIM_TENSORBOARD_PYTHON")
LOADS_S = 180
STEPS = 30


@unittest.skipUnless(PYTHON, optional.lacks("tensorboard"))
class Plugin(exporting.Export):
    def setUp(self):
        super().setUp()
        trained.train(self.folder / "run", 2, steps=STEPS, knobs={"GPUSHIM_BUDGET": "100%"})
        self.files = self.folder / "logs" / "job"
        self.export(self.folder / "run" / "0.db", self.folder / "run" / "1.db", to=f"{self.files}/")
        self.data = chrome_rules.read(self.files / "rank-0.pt.trace.json.gz")
        self.serve(self.folder / "logs")

    def serve(self, folder):
        self.log = self.folder / "tensorboard.log"
        with self.log.open("wb") as log:
            program = subprocess.Popen(
                [PYTHON, "-m", "tensorboard.main", "--logdir", folder, "--host", "127.0.0.1", "--port", "0"],
                env={**os.environ, "PYTHONWARNINGS": "ignore"}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        self.addCleanup(program.wait)
        self.addCleanup(program.terminate)
        self.place = self.until(lambda: re.search(r"at (http://\S+?)/? ", self.said_of_it()), program)[1]

    def said_of_it(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def until(self, asked, program=None):
        give_up = time.monotonic() + LOADS_S
        while time.monotonic() < give_up:
            if found := asked():
                return found
            self.assertTrue(program is None or program.poll() is None, self.said_of_it())
            time.sleep(0.2)
        return self.fail(self.said_of_it()[-2000:])

    def ask(self, what, **words):
        url = f"{self.place}/data/plugin/pytorch_profiler/{what}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.loads(answer.read())
        except (urllib.error.HTTPError, json.JSONDecodeError):
            return None  # it has not come to that yet

    def of_rank(self, view, path, **words):
        return self.ask(path, run="job", worker="rank-0", span="default", view=view, **words)

    def test_it_serves_steps_and_kernels_as_they_are_in_the_file(self):
        self.until(lambda: "job" in (self.ask("runs") or {}).get("runs", ()))
        self.assertEqual(self.ask("workers", run="job", view="Overview"), ["rank-0", "rank-1"])
        overview = self.until(lambda: self.of_rank("Overview", "overview"))
        steps = [event for event in chrome_rules.events(self.data, "X", "user_annotation")
                 if event["name"].startswith("ProfilerStep#")]
        self.assertEqual([row[0] for row in overview["steps"]["rows"]],
                         [step["name"].partition("#")[2] for step in steps])
        for row, step in zip(overview["steps"]["rows"], steps):
            total = float(re.search(r"Total: ([\d.]+)us", row[2])[1])
            self.assertAlmostEqual(total, float(step["dur"]), delta=0.01)
        sums = collections.Counter()
        for kernel in chrome_rules.events(self.data, "X", "kernel"):
            sums[kernel["name"]] += float(kernel["dur"])
        served = self.until(lambda: self.of_rank("Kernel", "kernel", group_by="Kernel"))
        told = dict(served["total"]["rows"])
        self.assertEqual(set(told), set(sums))
        for name, microseconds in told.items():
            self.assertAlmostEqual(microseconds, sums[name], delta=1 + 1e-6 * microseconds, msg=name)
        self.assertNotIn("should not intersect", self.said_of_it())
