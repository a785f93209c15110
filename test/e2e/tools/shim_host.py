"""For tests of the shim: building small programs from doors/, running them with and without the preload, and
reading what the shim and the box counted."""
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import box
import in_memory

SHIM = box.LIBRARY
SOURCES = pathlib.Path(__file__).parent / "doors"
LAUNCHES = 7  # of doors/host.c


class Run:
    """One run of a program: its output, and who counted what."""

    def __init__(self, done, hits, tool, counts):
        self.returncode, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.hits, self.tool, self.counts = hits, tool, counts

    @property
    def seen(self):
        """What the program shows to the world."""
        return self.returncode, self.stdout, self.stderr


class ShimTest(unittest.TestCase):
    """A folder for each test; nothing of the trace is left in the working directory."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="test-gpushim-", dir=in_memory.place()))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def build(self, source, name, *flags, compiler="gcc"):
        """Builds doors/<source> with these flags; a name that ends in .so is a library."""
        target = self.folder / name
        shared = ["-shared", "-fPIC"] if ".so" in name else []
        command = [compiler, "-Wall", "-Werror", *shared, *box.include_flags(), str(SOURCES / source), "-o",
                   str(target), *[str(flag) for flag in flags], "-ldl", "-pthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, " ".join(command) + "\n" + done.stderr)
        return target

    def linked(self, library="cuda"):
        """Flags that link a program to the box's library."""
        return [f"-L{box.SIM}", f"-Wl,-rpath-link,{box.SIM}", f"-l{library}"]

    def run_host(self, command, preload=(SHIM,), **knobs):
        """Runs the program with these libraries before it."""
        hits, tool, truth = (self.folder / name for name in ("hits", "tool", "truth"))
        for path in (hits, tool, pathlib.Path(f"{truth}.counts")):
            path.unlink(missing_ok=True)
        env = {"HITS": hits, "TOOL_COUNT": tool, "GPUSIM_TRUTH": truth, "GPUSHIM_OUT": self.folder / "%p.db",
               **knobs}
        if preload:
            env["LD_PRELOAD"] = ":".join(str(path) for path in preload)
        done = box.run(command, env, cwd=self.folder)
        tool_count = int(tool.read_text()) if tool.exists() else None
        return Run(done, read_hits(hits), tool_count, read_counts(truth))

    def assert_undisturbed(self, command, **knobs):
        """The program shows the same with and without the shim; returns the run with it."""
        without = self.run_host(command, preload=(), **knobs)
        with_shim = self.run_host(command, **knobs)
        self.assertEqual(with_shim.seen, without.seen)
        return with_shim

    def recorded(self, table):
        """How many rows of it the one trace has. A process waits two seconds at its end for what is not yet
        written; on a busy machine more may be left, and the next reader of the trace puts it in."""
        (trace,) = self.folder.glob("*.db")
        read = box.run([box.PROGRAM, "export", "chrome", trace, "-o", self.folder / "read.json"], sim=False)
        self.assertEqual(read.returncode, 0, read.stderr)
        with sqlite3.connect(trace) as base:
            return base.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def read_hits(path):
    if not path.exists():
        return {}
    return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)\n", path.read_text())}


def read_counts(truth):
    """{export: calls by the program}; the box counts those that the driver makes to itself apart."""
    path = pathlib.Path(f"{truth}.counts")
    if not path.exists():
        return {}
    return {name: count.entered for name, count in box.read_counts(path).items()}
