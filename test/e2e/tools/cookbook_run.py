"""The questions of examples/sql, and a run of two ranks that has an answer to each."""
import pathlib
import re
import sqlite3
import sys
import unittest

import box
import cli
import in_memory

JOB = pathlib.Path(__file__).resolve().parent / "cookbook" / "job.py"
sys.path.insert(0, str(JOB.parent))
import recipe

COOKBOOK = box.ROOT / "examples" / "sql"
QUESTIONS = sorted(path.stem for path in COOKBOOK.glob("*.sql"))


def source(question):
    return (COOKBOOK / f"{question}.sql").read_text(encoding="utf-8")


def remarks(question):
    """The question itself, and the rest of the remark above the query."""
    lines = re.match(r"((?:-- .*\n)+)", source(question)).group(1).splitlines()
    return lines[0][3:], " ".join(line[3:] for line in lines[1:])


def is_for(question):
    """a run, a trace, two runs"""
    return re.match(r"For (a run|a trace|two runs)\b", remarks(question)[1]).group(1)


class Case(unittest.TestCase):
    """A run, and for those who ask another one beside it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        cls.run_folder = cls.folder / "run"
        cls.trace(cls.run_folder, recipe.STEPS)

    @classmethod
    def trace(cls, folder, *words):
        folder.mkdir()
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": recipe.RANKS, "LD_PRELOAD": cli.LIBRARY,
                 "GPUSIM_TRUTH": folder / "truth.%r", "GPUSHIM_OUT": folder / "%r.db",
                 "GPUSHIM_BUDGET": "100%"}
        report = [cli.GPUSHIM, "report", folder, "--price", recipe.PRICE, "--params", recipe.FLOATS]
        for done in (box.run(["python3", JOB, *words], knobs), box.run(report, sim=False)):
            if done.returncode or done.stderr:
                raise RuntimeError(done.stderr)

    def base(self):
        """Another run, to compare with."""
        folder = self.folder / "base"
        if not folder.exists():
            self.trace(folder, 40, 2 * recipe.KERNEL_US)
        return folder / "gpushim.run.db"

    def database(self, question):
        return self.run_folder / ("1.db" if is_for(question) == "a trace" else "gpushim.run.db")

    def ask(self, question):
        """Rows by any SQLite, as {column: value}."""
        base = sqlite3.connect(f"file:{self.database(question)}?mode=ro", uri=True)
        base.row_factory = sqlite3.Row
        try:
            if is_for(question) == "two runs":
                base.execute("ATTACH ? AS base", (str(self.base()),))
            return [dict(row) for row in base.execute(source(question))]
        finally:
            base.close()

    def truth(self, rank=1):
        return [op for op in box.read_truth(self.run_folder / f"truth.{rank}")
                if op.op in ("kernel", "h2d", "d2h")]
