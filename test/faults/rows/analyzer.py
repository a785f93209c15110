"""The analyzer and its inputs."""
import itertools
import json
import os
import shutil
import sqlite3
import sys

import box
import made_traces
import preload
import test_damaged
from row import ALONE, Row

A1 = Row("A1", "truncated, damaged, foreign, huge inputs")
A1.proven_by([ALONE], "test_damaged.Damaged.test_traces_of_other_tools",
             "test_damaged.Damaged.test_databases_and_rings", "test_damaged.Damaged.test_values",
             "test_hostile_files.HostileFiles.test_what_is_no_file",
             "test_hostile_files.HostileFiles.test_one_bad_file_among_good_ones")


@A1.tried_on(ALONE)
def damaged_files(scene):
    """Each within 2 s of a processor and 512 MiB, no crash, a message that names the file."""
    every = []
    for target, inputs in test_damaged.FILES.items():
        every.append(test_damaged.give(target, scene.pick(5, inputs)))
        scene.assertEqual(every[-1].wrong, "")
    files = sum(given.inputs for given in every)
    scene.assertGreaterEqual(files, scene.pick(40, 10_000))
    print(f"A1: {files} files, the longest {max(given.longest_ms for given in every)} ms of a processor,"
          f" {max(given.peak_mb for given in every)} MB", file=sys.stderr)


A2 = Row("A2", "hostile databases")
A2.proven_by([ALONE], *(f"test_hostile_files.HostileFiles.test_{name}" for name in (
    "schemas_that_do_what_they_like", "what_does_no_harm_is_read", "a_run_of_a_stranger")))
A3 = Row("A3", "older and newer schemas")
A3.proven_by([ALONE], "test_hostile_files.HostileFiles.test_schemas_that_do_what_they_like")
A4 = Row("A4", "no rank, missing ranks, half a collective, mixed jobs")
A4.proven_by([ALONE], "test_thin_runs.Thin.test_nothing_at_all", "test_thin_runs.Thin.test_one_rank_of_eight")


class Job:
    """Traces of a run of three ranks, each way of being incomplete on its own or with others."""

    ways = ("missing", "half", "copied", "mixed", "nobody")

    def __init__(self, folder, ways):
        self.folder = folder
        made_traces.make_run(folder, 3)
        self.files = sorted(folder.glob("*.db"))
        for way in ways:
            getattr(self, way)()

    def missing(self):
        self.files.pop().unlink()

    def half(self):
        """One rank never came to the collective."""
        base = sqlite3.connect(self.files[-1])
        base.execute("DELETE FROM collective")
        base.commit()
        base.close()

    def copied(self):
        shutil.copy(self.files[0], self.folder / "copy.db")

    def mixed(self):
        made_traces.make(self.folder / "other.db", run_key="another", started_ns=-10**12)

    def nobody(self):
        """A process that recorded nothing yet."""
        (self.folder / "nobody.db").touch()


@A4.tried_on(ALONE)
def what_is_not_whole_is_told(scene):
    every = [ways for count in range(6) for ways in itertools.combinations(Job.ways, count)]
    for number, ways in enumerate(scene.pick(every[1:6] + every[-1:], every)):
        job = Job(scene.folder / str(number), ways)
        done = box.run([preload.ANALYZER, "report", "--json", job.folder], sim=False)
        shown = box.run([preload.ANALYZER, "report", job.folder], sim=False).stdout
        with scene.subTest(ways):
            scene.assertEqual(done.returncode, 3 if "nobody" in ways else 0, done.stderr)
            report = json.loads(done.stdout)
            ranks = 2 if "missing" in ways else 3
            ledger = report["ledger"]
            scene.assertEqual((ledger["ranks_seen"], ledger["ranks_expected"]), (ranks, 3))
            scene.assertIn(f"{ranks} of 3 ranks", shown)
            told = done.stderr + shown
            scene.assertEqual("is a copy of another trace" in told, "copied" in ways, told)
            scene.assertEqual("holds 2 runs" in told, "mixed" in ways, told)
            scene.assertEqual("nobody.db" in told, "nobody" in ways, told)
            kind, = report["collectives"]
            whole = not {"missing", "half"} & set(ways)
            scene.assertEqual(kind["complete"], int(whole), kind)


A5 = Row("A5", "HTML, SQL, terminal and CSV payloads in names")
A5.proven_by([ALONE], "test_damaged.Damaged.test_texts")
A5.proven_by([ALONE], *(f"test_hostile_names.Names.test_{sink}" for sink in (
    "the_report", "the_reports_json", "the_report_as_markdown", "sql_as_a_table", "sql_as_csv", "sql_as_json",
    "names_of_tables_and_columns", "what_is_no_utf8", "what_another_tool_recorded",
    "files_that_are_called_so")))
A6 = Row("A6", "compression bombs, deep nesting, NaN")
A6.proven_by([ALONE], "test_hostile_files.HostileFiles.test_gzip_that_grows_without_end",
             "test_hostile_files.HostileFiles.test_nesting_and_numbers_that_are_none")
A7 = Row("A7", "time that grows faster than the input")


def cpu_of_analysis(scene, launches):
    """Seconds of a processor that a trace of so many launches takes."""
    trace = scene.folder / f"{launches}.db"
    made_traces.make(trace)
    base = sqlite3.connect(trace)
    base.execute("PRAGMA synchronous = OFF")
    base.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
                 " INSERT INTO launch SELECT 10000000 + i * 10000, 4000, 1, 1, 1, NULL, 0 FROM n",
                 (launches,))
    base.commit()
    base.close()
    made_traces.closed(trace)
    before = os.times()
    words = [preload.ANALYZER, "analyze", trace, "-o", scene.folder / "run.db"]
    done = box.run(words, sim=False, timeout=3000)
    after = os.times()
    scene.assertEqual(done.returncode, 0, done.stderr)
    trace.unlink()
    return after.children_user + after.children_system - before.children_user - before.children_system


@A7.tried_on(ALONE)
def ten_times_as_much_takes_ten_times_as_long(scene):
    small, large = scene.pick((100_000, 1_000_000), (1_000_000, 10_000_000))
    times = [cpu_of_analysis(scene, launches) for launches in (small, large)]
    print(f"A7: {small} launches {times[0]:.2f} s, {large} launches {times[1]:.2f} s", file=sys.stderr)
    scene.assertLess(times[1] / times[0], 10 ** 1.15)
