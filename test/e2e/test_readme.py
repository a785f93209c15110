"""Every command of the README is run, as it stands there, in a folder that has a `train.py` and the packages;
and what the README shows of a report is what is printed. stand_in_launchers.py stands in for programs that
a test cannot have: of `make` it only looks whether there is such a target, of `pip`, where this Python has none,
whether there is such a file."""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

import box
import cli
import stand_in_launchers

README = (box.ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LEFT_OUT = "…"
# What stands for something of the reader's, and what it is here.
PLACEHOLDERS = {"ADDRESS": str(box.ROOT), "IMAGE": "training:latest", "BEFORE": "before", "AFTER": "after"}
LAUNCHERS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
# Under a launcher it is one rank, which a program in C++ is enough for.
TRAIN = f"""import os, sys
launched = any(name in os.environ for name in {LAUNCHERS})
command = ["{cli.LINKED}"] if launched else [sys.executable, "{cli.TRAIN}", "--ranks", "2", "--steps", "60"]
os.execv(command[0], command)
"""
# May say that something would not be seen here.
MAY_BE_INCOMPLETE = "gpushim doctor"
NEEDS = {"sqlite3": "sqlite3", "jq": "jq", "sudo apt": "dpkg-deb", "git": "git"}


def fences(kind):
    return [text for language, text in FENCE.findall(README) if language == kind]


def commands(text):
    """A command is a line, with those that it goes on in."""
    joined = text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


class Shown(unittest.TestCase):
    def test_the_report_is_one_that_is_printed(self):
        """Line by line, in order; `…` stands for any lines."""
        printed = (box.ROOT / "test/golden/train.report.txt").read_text(encoding="utf-8").splitlines()
        (shown,) = fences("text")
        at = 0
        for line in shown.splitlines():
            if line == LEFT_OUT:
                at = None
                continue
            found = [i for i, text in enumerate(printed) if text == line and (at is None or i == at)]
            self.assertTrue(found, f"not a line of test/golden/train.report.txt, or not there: {line}")
            printed, at = printed[found[0] + 1:], 0

    def test_nothing_stands_in_a_block_that_is_not_run(self):
        self.assertEqual({language for language, _ in FENCE.findall(README)}, {"sh", "text"})
        self.assertNotRegex(README, r"\n\n    \S")


class Commands(cli.Case):
    def setUp(self):
        super().setUp()
        self.root, self.job = self.folder / "root", self.folder / "job"
        self.job.mkdir()
        self.root.mkdir()
        stand_in_launchers.install(self.folder / "bin")
        (self.folder / ".gitconfig").write_text("[safe]\n  directory = *\n", encoding="utf-8")
        (self.job / "train.py").write_text(TRAIN, encoding="utf-8")
        self.libraries = f"{box.SIM}:{self.root}/usr/lib:{box.BUILD}"
        self.left_out = []

    def environment(self):
        path = f"{self.folder}/bin:{self.root}/usr/bin:{box.BUILD}:{os.environ['PATH']}"
        image = {"PATH": path, "LD_LIBRARY_PATH": str(box.SIM), "GPUSIM_DEVICES": "2"}
        return {**box.environment({"GPUSIM_DEVICES": 2}), "HOME": str(self.folder), "PATH": path,
                "LD_LIBRARY_PATH": self.libraries, "STAND_IN_ROOT": str(self.root),
                "STAND_IN_IMAGE": ";".join(f"{name}={value}" for name, value in image.items())}

    def shell(self, command, folder):
        """The folder in which it ends: `cd` is a command, too."""
        where = self.folder / "where"
        done = subprocess.run(["sh", "-c", f"{command}\nstatus=$?; pwd >{where}; exit $status"], check=False,
                              cwd=folder, env=self.environment(), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        allowed = (0, 3) if command.startswith(MAY_BE_INCOMPLETE) else (0,)
        self.assertIn(done.returncode, allowed, f"{command}\n{done.stdout}")
        return where.read_text(encoding="utf-8").strip(), done.stdout

    def traces(self):
        return {path.name for path in self.job.glob("gpushim.*.[01].*.db")}

    def run_one(self, line, folder):
        command = re.sub(r"\b[A-Z]+\b", lambda word: PLACEHOLDERS.get(word[0], word[0]), line)
        need = next((tool for start, tool in NEEDS.items() if command.startswith(start)), "sh")
        if shutil.which(need) is None:
            self.left_out.append(f"{need} is not here, for: {line}")
            return folder
        before = self.traces()
        folder, said = self.shell(command, folder)
        if "train.py" in command:
            ranks = sorted(name.split(".")[-3] for name in self.traces() - before)
            self.assertEqual(ranks, ["0", "1"], f"{command}\n{said}")
        if "findings" in command:
            self.assertIn('"try":', said)
        return folder

    def test_every_command_runs(self):
        for kind in ("deb", "wheel"):
            if kind == "wheel" or shutil.which("dpkg-deb"):
                box.run([sys.executable, "-B", box.ROOT / "scripts/package", kind, self.job], sim=False)
        for name in ("before", "after"):
            pattern = self.job / name / "%r.%p.db"
            self.gpushim("run", "-o", pattern, "--", sys.executable, cli.TRAIN, "--ranks", 2,
                         knobs={"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": 2}, sim=True)
        for block in fences("sh"):
            folder = self.job
            for line in commands(block):
                folder = self.run_one(line, folder)
        self.check_what_is_left()
        if self.left_out:
            self.skipTest("; ".join(self.left_out))

    def check_what_is_left(self):
        """Both packages were really unpacked, and the outputs that were named are there."""
        version = self.gpushim("--version").stdout
        if shutil.which("dpkg-deb"):
            installed = self.root / "usr/bin/gpushim"
            self.assertEqual(subprocess.check_output([installed, "--version"], text=True), version)
        if (self.root / "site").exists():
            said = subprocess.check_output([sys.executable, "-m", "gpushim", "--version"], text=True,
                                           env={**os.environ, "PYTHONPATH": str(self.root / "site")})
            self.assertEqual(said, version)
        for name in ("run.html", "timeline", ".gitignore", "gpushim.run.db"):
            self.assertTrue((self.job / name).exists(), name)
        base = sqlite3.connect(self.job / "gpushim.run.db")
        self.addCleanup(base.close)
        self.assertEqual(base.execute("SELECT count(DISTINCT rank) FROM rank").fetchone(), (2,))
        ignored = subprocess.run(["git", "-C", self.job, "init", "-q"], check=False).returncode == 0
        for path in self.job.glob("*.db") if ignored else ():
            subprocess.run(["git", "-C", self.job, "check-ignore", "-q", path], check=True)


if __name__ == "__main__":
    unittest.main()
