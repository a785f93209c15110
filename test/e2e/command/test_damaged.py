"""Seeds that are damaged by the hundred, given to everything that reads what strangers wrote (test/fuzz): the
short form of `make fuzz`, without a sanitizer, but within limits of time and memory."""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import box

sys.path.insert(0, str(box.ROOT / "test" / "fuzz"))
import seeds  # noqa: E402

DAMAGE = box.BUILD / "damage"
LIMIT_S = 3600
QUICK = {"settings": 20_000, "pattern": 20_000, "escape": 2000, "gzip": 500, "kineto": 500, "ring": 2000,
         "pages": 200, "calls": 200, "run": 200, "trace": 100, "import": 15, "nsys": 15, "report": 15,
         "analyze": 15, "xplane": 500, "xplane_import": 15}
# Whole files, each as the command or the reader is given it.
FILES = {name: 800 if QUICK[name] < 100 else 4000
         for name in ("gzip", "kineto", "ring", "pages", "import", "nsys", "report", "analyze")}


@dataclasses.dataclass
class Given:
    inputs: int = 0
    longest_ms: int = 0
    peak_mb: int = 0
    wrong: str = ""


def give(target, inputs):
    """What became of so many inputs."""
    with tempfile.TemporaryDirectory(prefix="gpushim-damage-") as name:
        folder = pathlib.Path(name)
        bases = seeds.make_bases(folder / "bases")
        words = [DAMAGE, target, inputs, LIMIT_S, *seeds.write(target, folder / "seeds")]
        done = subprocess.run([str(word) for word in words], cwd=folder, text=True, check=False,
                              env={**os.environ, "FUZZ_BASES": str(bases)}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = re.search(r": (\d+) inputs, the longest (\d+) ms, (\d+) MB", done.stdout)
        if done.returncode != 0 or said is None:
            return Given(wrong=done.stdout or "it said nothing")
        return Given(*map(int, said.groups()))


class Damaged(unittest.TestCase):
    def test_every_target_is_given_some(self):
        listed = subprocess.run([DAMAGE], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual({line.split("\t")[0] for line in listed.splitlines()}, set(QUICK))

    def short(self, *targets):
        for target in targets:
            with self.subTest(target):
                given = give(target, QUICK[target])
                self.assertEqual(given.wrong, "")
                self.assertGreaterEqual(given.inputs, QUICK[target])

    def test_texts(self):
        self.short("settings", "pattern", "escape")

    def test_traces_of_other_tools(self):
        self.short("kineto", "gzip", "xplane", "import", "nsys", "xplane_import")

    def test_databases_and_rings(self):
        self.short("ring", "pages", "analyze", "report")

    def test_values(self):
        self.short("calls", "trace", "run")


class RingModel(unittest.TestCase):
    def test_every_order_of_a_few_calls(self):
        done = box.run([box.BUILD / "ring_model"], sim=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = re.findall("^broken.*(killed here|a race|at the end)", done.stdout, re.MULTILINE)
        self.assertEqual(len(found), 5, done.stdout)
