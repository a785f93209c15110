"""Every command of the README is run, as it stands there, in a folder that has a `train.py` and the packages;
and what the README shows of a report is what is printed. stand_in_launchers.py stands in for programs that a
test cannot have. Of `make` it only looks whether there is such a target, and of `pip`, where this Python has
none, whether there is such a file."""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

import box
import cli
import optional
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
# Words of commands, and what has to be on this machine for them.
NEEDS = {"sqlite3": "sqlite3", "jq": "jq", "git": "git", "apt": "dpkg-deb"}


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


class Case(cli.Case):
    """A folder with a program to train, and the stand-ins on PATH."""

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
        env = {**box.environment({"GPUSIM_DEVICES": 2}), "HOME": str(self.folder), "PATH": path}
        del env["GPUSHIM_BUILD"]
        image = {name: value for name, value in env.items()
                 if name.startswith("GPUSIM_") or name in ("PATH", "GPUSHIM_RECOVER")}
        image["LD_LIBRARY_PATH"] = str(box.SIM)
        return {**env, "LD_LIBRARY_PATH": self.libraries, "STAND_IN_ROOT": str(self.root),
                "STAND_IN_IMAGE": ";".join(f"{name}={value}" for name, value in image.items())}

    def shell(self, command, folder=None):
        return subprocess.run(["sh", "-c", command], check=False, cwd=folder or self.job, text=True,
                              env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    def traces(self):
        return {path.name for path in self.job.glob("gpushim.*.[01].*.db")}


class StandIns(Case):
    """They are as strict as what they stand for, or a wrong line of the README would pass."""

    def test_they_refuse_what_they_do_not_know(self):
        (self.job / "Makefile").write_text("demo:\n", encoding="utf-8")
        for line in ("srun --ntask=1 true", "srun --ntasks=1 --exports=ALL true", "mpirun -np 1 -y A=1 true",
                     "mpirun -np 1 -x A+1 true", "docker run --gpus=all --shm-size=1g -w /job image true",
                     "docker run --gpus=all --shm-size=1g -v /nothing/here:/job -w /job image true",
                     "torchrun --nproc-per-node=1 train.py", "torchrun --standalone --np=1 train.py",
                     "apt install gpushim.deb", "pip install --upgrade ./a.whl", "make test", "sudo -x true"):
            self.assertNotEqual(self.shell(line).returncode, 0, line)
        for line in ("srun --ntasks=1 true", "mpirun -np 1 -x A=1 true", "make demo", "sudo true",
                     'docker run --gpus=all --shm-size=1g -v "$PWD:/job" -w /job image true'):
            self.assertEqual(self.shell(line).returncode, 0, line)

    def test_a_variable_that_is_not_handed_on_does_not_arrive(self):
        for line in ("mpirun -np 1 python train.py", "srun --ntasks=1 --export=PATH=$PATH python train.py",
                     'docker run --gpus=all --shm-size=1g -v "$PWD:/job" -w /job image python train.py'):
            self.shell(f"LD_PRELOAD=libgpushim.so {line}")
            self.assertEqual(self.traces(), set(), line)


class Commands(Case):
    def run_one(self, line, folder):
        command = re.sub(r"\b[A-Z]+\b", lambda word: PLACEHOLDERS.get(word[0], word[0]), line)
        for tool in (NEEDS[word] for word in command.split() if word in NEEDS):
            if shutil.which(tool) is None:
                self.left_out.append(f"{tool} is not here, for: {line}")
                return folder
        before = self.traces()
        where = self.folder / "where"  # `cd` is a command, too
        done = self.shell(f"{command}\nstatus=$?; pwd >{where}; exit $status", folder)
        allowed = (0, 3) if command.startswith(MAY_BE_INCOMPLETE) else (0,)
        self.assertIn(done.returncode, allowed, f"{command}\n{done.stdout}")
        if "train.py" in command:
            ranks = sorted(name.split(".")[-3] for name in self.traces() - before)
            self.assertEqual(ranks, ["0", "1"], f"{command}\n{done.stdout}")
        if "findings" in command:  # that run has some on every machine: it is in simulated time
            self.assertIn('"try":', self.shell(command, self.job / "before").stdout)
        return pathlib.Path(where.read_text(encoding="utf-8").strip())

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
            self.skipTest(optional.lacks("readme_tools", "; ".join(self.left_out)))

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
        for name in ("run.html", "gpushim.ranks.json.gz", ".gitignore", "gpushim.run.db"):
            self.assertTrue((self.job / name).exists(), name)
        base = sqlite3.connect(self.job / "gpushim.run.db")
        self.addCleanup(base.close)
        self.assertEqual(base.execute("SELECT count(DISTINCT rank) FROM rank").fetchone(), (2,))
        ignored = subprocess.run(["git", "-C", self.job, "init", "-q"], check=False).returncode == 0
        for path in self.job.glob("*.db") if ignored else ():
            subprocess.run(["git", "-C", self.job, "check-ignore", "-q", path], check=True)
