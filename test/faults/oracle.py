"""What every row is held to: a program does with the shim what it does without it, and what was recorded adds
up. A Scene is one row on one kind of host, as a TestCase with a folder of its own."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from typing import NamedTuple

import box
import preload
from row import C, FORK, SPAWN

C_HOST = box.BUILD / "faults" / "host"
HOSTS = box.ROOT / "test" / "faults" / "hosts"
PYTHON_HOST = HOSTS / "host.py"
START_METHOD = {FORK: "fork", SPAWN: "spawn"}
FULL = bool(os.environ.get("FAULTS_FULL"))


class Ledger(NamedTuple):
    """The report's, over all traces."""

    produced: int
    recorded: int
    recovered: int
    dropped: int
    unfinished: int
    unknown: int
    by_reason: dict


class Seen(NamedTuple):
    """What a run shows to the world: files are those that it made in its working directory."""

    status: int
    stdout: str
    stderr: str
    files: dict


class Scene(preload.PreloadCase):
    """One row on one kind of host. `here` is where programs run, `out` where their traces go."""

    host = C
    in_memory = False

    def setUp(self):
        super().setUp()
        self.here, self.out = self.folder / "here", self.folder / "traces"

    @staticmethod
    def pick(quick, full):
        """How many: `make test` takes the first, FULL=1 the second."""
        return full if FULL else quick

    def command(self, *words):
        """The host program of this kind, told to go that way (hosts/)."""
        if self.host == C:
            return [C_HOST, *words]
        return [sys.executable, "-B", PYTHON_HOST, START_METHOD[self.host], *words]

    def small(self, source, *flags):
        """A program of hosts/ in C that is not linked to the driver; it is compiled for this scene."""
        program = self.folder / source.partition(".")[0]
        subprocess.run(["gcc", "-Wall", "-Werror", *box.include_flags(), HOSTS / source, "-o", program,
                        *flags, "-ldl", "-pthread"], check=True)
        return program

    def seen(self, command, knobs, timeout=120, **options):
        shutil.rmtree(self.here, ignore_errors=True)
        self.here.mkdir()
        done = box.run(command, {**preload.QUICK, **knobs}, cwd=self.here, timeout=timeout, **options)
        return Seen(done.returncode, done.stdout, done.stderr, preload.tree(self.here))

    def same(self, *words, traces=None, says=None, **knobs):
        """The host goes that way without and with the shim; what it shows is the same, but for at most one
        line on stderr, the documented one that `says` describes. Returns (what was seen, ledger)."""
        return self.same_command(self.command(*words), traces, says, **knobs)

    def same_command(self, command, traces=None, says=None, timeout=120, **knobs):
        """As `same`, of any command. `traces`: so many are there in the end."""
        before = self.traces()
        ours = ("GPUSHIM_", "LD_PRELOAD")
        others = {name: value for name, value in knobs.items() if not name.startswith(ours)}
        alone = self.seen(command, others, timeout)
        self.out.mkdir(exist_ok=True)
        under = self.seen(command, {**preload.variables(self.out), **knobs}, timeout)
        self.assertEqual(under._replace(stderr=self.without_our_line(under.stderr, says)), alone)
        made = [trace for trace in self.traces() if trace not in before]
        if traces is not None:
            self.assertEqual(len(made), traces, made)
        return under, self.ledger()

    def traces(self):
        return sorted(self.out.glob("trace.*.db"))

    def without_our_line(self, stderr, says):
        lines = stderr.splitlines(keepends=True)
        ours = [line for line in lines if line.startswith("gpushim: ")]
        if says is None:
            self.assertEqual(ours, [])
        else:
            self.assertEqual([bool(re.search(says, line)) for line in ours], [True], stderr)
        return "".join(line for line in lines if line not in ours)

    def ledger(self):
        """Held: every trace opens and is whole, and the report's equation has no remainder. None without a
        trace."""
        traces = self.traces()
        if not traces:
            return None
        done = box.run([preload.ANALYZER, "report", "--json", self.out], sim=False, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for trace in traces:
            self.assertEqual(preload.query(trace, "PRAGMA integrity_check"), [("ok",)], trace)
        found = json.loads(done.stdout)["ledger"]
        names = ("produced", "recorded", "recovered", "unfinished", "unknown")
        dropped = sum(found["dropped"].values())
        ledger = Ledger(dropped=dropped, by_reason=found["dropped"], **{name: found[name] for name in names})
        self.assertEqual(ledger.unknown, 0, found)
        parts = ledger.recorded + ledger.recovered + dropped + ledger.unfinished
        self.assertEqual(ledger.produced, parts, found)
        return ledger

    def count(self, sql):
        """The sum of a query's one number over all traces."""
        return sum(preload.query(trace, sql)[0][0] for trace in self.traces())

    def copies(self):
        return self.count("SELECT count(*) FROM copy WHERE flags & 4 = 0")

    def writable(self, trace):
        """An open connection, for a test that damages a trace."""
        base = sqlite3.connect(trace)
        self.addCleanup(base.close)
        return base
