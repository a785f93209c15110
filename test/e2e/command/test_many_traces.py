"""More traces than a process may have files open: they are read in turns, and the run is the same."""
import resource
import sqlite3
import sys
import unittest

import box
import cli

sys.path.insert(0, str(box.ROOT / "test" / "bench"))
import big_trace  # noqa: E402

TRACES, FILES = 130, 110


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def rows(run, table):
    with sqlite3.connect(run) as base:
        return sorted(map(repr, base.execute(f"SELECT * FROM {table}")))


class ManyTraces(cli.Case):
    def test_more_than_may_be_open(self):
        traces = [self.folder / f"{rank:03d}.db" for rank in range(TRACES)]
        big_trace.made_ranks(traces, 400, per_step=20, collectives=True)
        narrow, wide = self.folder / "narrow.run", self.folder / "wide.run"
        self.gpushim("analyze", *traces, "-o", narrow, preexec_fn=few_files)
        self.gpushim("analyze", *traces, "-o", wide)
        with sqlite3.connect(narrow) as run:
            self.assertEqual(run.execute("SELECT count(*) FROM rank").fetchone(), (TRACES,))
            self.assertEqual(run.execute("SELECT max(ranks) FROM collective_instance").fetchone(), (TRACES,))
        for table in ("step", "collective_instance", "finding", "across"):
            self.assertEqual(rows(narrow, table), rows(wide, table), table)
        counted = self.gpushim("sql", self.folder, "SELECT count(*) FROM launch", preexec_fn=few_files).stdout
        self.assertIn(str(TRACES * 400), counted.replace(",", ""))


if __name__ == "__main__":
    unittest.main()
