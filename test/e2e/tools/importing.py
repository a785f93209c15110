"""Tests of `gpushim import`: what it makes of files that a test has written."""
import sqlite3
import subprocess
import sys

import cli

# In a process of its own: a child's most memory begins with what its parent has.
PEAK = ("import resource, subprocess, sys; assert subprocess.call(sys.argv[2:]) == int(sys.argv[1]); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")


def peak_kib(source, path, run, expect=0):
    """The most memory that importing a file takes."""
    done = subprocess.run([sys.executable, "-c", PEAK, str(expect), cli.GPUSHIM, "import", source, path, "-o",
                           run], check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout)


class Import(cli.Case):
    def imported(self, *files, expect=0, source="kineto"):
        self.said = self.gpushim("import", source, *files, "-o", self.folder / "run.db", "--keep-traces",
                                 self.folder / "traces", expect=expect).stderr
        base = sqlite3.connect(self.folder / "run.db")
        self.addCleanup(base.close)
        return base

    def rows(self, sql, base=None):
        return (base or self.trace()).execute(sql).fetchall()

    def trace(self, number=0):
        base = sqlite3.connect(sorted((self.folder / "traces").glob("*.db"))[number])
        self.addCleanup(base.close)
        return base
