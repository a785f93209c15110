"""Tests of `gpushim import`: what it makes of files that a test has written."""
import sqlite3

import cli


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
