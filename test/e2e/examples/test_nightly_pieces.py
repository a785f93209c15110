"""The ready pieces of examples/nightly/ do what they say: the line of cron is run by sh, systemd reads its
units, and the workflow's step is run as GitHub would."""
import importlib.util
import os
import re
import shutil
import subprocess

import box
import cli
import optional
import nightly

PIECES = box.ROOT / "examples" / "nightly"


def sh(command, **env):
    env = {**os.environ, "GPUSHIM_BUILD": box.BUILD, **env}
    return subprocess.run(["sh", "-e", "-c", command], check=False, timeout=200, capture_output=True,
                          text=True, env={name: str(value) for name, value in env.items()})


class Pieces(cli.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        for number, knobs in ((1, {}), (2, {}), (3, {"GPUSIM_SLOW": "0:1.04"})):
            nightly.record(self.traces / str(number), number, night=number, **knobs)

    def here(self, text):
        """With our places in it, and no night too old."""
        text = text.replace("/opt/gpushim", str(box.ROOT)).replace("/srv", str(self.folder))
        text = text.replace("/tmp/gpushim-nightly.lock", str(self.folder / "cron.lock"))
        return text.replace("nightly_report.sh", "nightly_report.sh --max-age 0")

    def test_the_line_of_cron(self):
        line, = re.findall(r"^30 6 \* \* \*  (.*)$", (PIECES / "crontab.txt").read_text(), flags=re.M)
        self.assertNotIn("%", line)
        (self.folder / "www" / "nightly").mkdir(parents=True)
        mail = self.folder / "mail"
        mail.write_text(f"#!/bin/sh\necho \"$@\" >'{self.folder}/mailed'\ncat >>'{self.folder}/mailed'\n")
        mail.chmod(0o755)
        done = sh(self.here(line), PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertIn("**REGRESSED**", done.stdout)
        self.assertTrue((self.folder / "www" / "nightly" / "nightly.html").exists())
        mailed = (self.folder / "mailed").read_text()
        self.assertTrue(mailed.startswith("-s training is slower team@example.org\n"), mailed)
        self.assertIn("**REGRESSED**", mailed)

    def test_systemd_reads_the_units(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest(optional.lacks("systemd"))
        for kind in ("service", "timer"):
            text = self.here((PIECES / f"gpushim-nightly.{kind}").read_text())
            (self.folder / f"gpushim-nightly.{kind}").write_text(text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--generators=no",
                               *map(str, self.folder.glob("gpushim-nightly.*"))], check=False, timeout=60,
                              capture_output=True, text=True)
        ours = [line for line in done.stderr.splitlines() if "gpushim-nightly" in line]
        self.assertEqual(ours, [], done.stderr)

    def test_the_step_of_the_workflow(self):
        text = (PIECES / "workflow.yml").read_text()
        if importlib.util.find_spec("yaml"):  # its step is run all the same
            read = importlib.import_module("yaml").safe_load(text)
            self.assertEqual(list(read["jobs"]), ["performance"])
        step, = re.findall(r"id: report\n +run: \|\n((?: {10}.*\n)+)", text)
        summary = self.folder / "summary.md"
        done = sh(self.here(step).replace("scripts/", f"{box.ROOT}/scripts/"), HOME=self.folder,
                  RUNNER_TEMP=self.folder, GITHUB_STEP_SUMMARY=summary)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("::error title=Training is slower::", done.stdout)
        self.assertIn("**REGRESSED**", summary.read_text())
