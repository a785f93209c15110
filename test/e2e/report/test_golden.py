"""Reports to the letter, from runs in stepped time: every figure is the same on every machine. `make golden`
rewrites them; the difference is to be read like code. The README shows lines of one (test_readme.py)."""
import os
import re

import box
import cli

GOLDEN = box.ROOT / "test" / "golden"


class Golden(cli.Case):
    maxDiff = None

    def report_of(self, *command, **knobs):
        done = self.traced(*command, GPUSIM_CLOCK="stepped", **knobs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.gpushim("report", self.folder).stdout

    def compare(self, name, text):
        path = GOLDEN / name
        if os.environ.get("GOLDEN") == "write":
            GOLDEN.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.assertEqual(text, path.read_text(encoding="utf-8"), self.folder_says())

    def folder_says(self):
        """What a run that differs is to be explained by."""
        return "\n".join(self.gpushim("sql", self.folder, f"SELECT * FROM {table}").stdout
                         for table in ("meta", "window", "refusal", "v_drop"))

    def report_when(self, query, *command, **knobs):
        """What is asked for when the program ends has milliseconds of real time, which pass on a machine that
        is busy: then the report lacks it, and there is another run, until `query` has a row."""
        for _ in range(5):
            for file in self.folder.glob("*.db*"):
                file.unlink()
            text = self.report_of(*command, **knobs)
            if len(self.gpushim("sql", self.folder, query).stdout.splitlines()) > 1:
                break
        return text

    def test_linked(self):
        text = self.report_when("SELECT 1 FROM window WHERE timed = operations",
                                cli.LINKED, RANK=0, WORLD_SIZE=1, GPUSHIM_DEVICE_TIME="events")
        self.compare("linked.report.txt", text)

    def test_train(self):
        """Which Python there is, is not the report's."""
        is_sampled = "SELECT 1 FROM (SELECT count(most_j) AS known FROM gpu_energy) WHERE known = 2"
        text = self.report_when(is_sampled, "python3", cli.TRAIN, "--ranks", 2, GPUSIM_DEVICES=2)
        self.compare("train.report.txt", re.sub(r"python3\.\d+", "python3", text))
        self.assertIn("most in sgd_update__25us", " ".join(text.split()))
        page = self.folder / "a.html"
        hidden = self.gpushim("report", self.folder, "--redact", "--json", "--html", page).stdout
        self.assertIn("most in kernel-", hidden)
        for name in ("sgd_update", "gemm_fwd"):
            self.assertNotIn(name, hidden + page.read_text(encoding="utf-8"))
