"""Spark beside SQLite: the same traces, the same files of metrics and questions, equal rows. test/fleet/run
runs it on a cluster of two workers; needs pyspark and duckdb."""
import contextlib
import io
import itertools
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("GPUSHIM_BUILD", "build")
GPUSHIM = str(BUILD / "gpushim")
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "test/e2e/tools")]
# pylint: disable=wrong-import-position
import made_fleet
from fleet import engine, failures, questions, reduce, remote, tables
# pylint: enable=wrong-import-position
READ = types.ModuleType("fleet_read")
READ.__file__ = str(ROOT / "scripts/fleet/read")
exec(compile(pathlib.Path(READ.__file__).read_text(encoding="utf-8"), READ.__file__, "exec"), READ.__dict__)

FIGURES = "name, scope, value, unit, kind, definition, level, coverage, timed_share, clock_error_ns"
ODD = ["cut", "duplicate", "missing", "missing", "newer"]


def analyze(*words):
    subprocess.run([GPUSHIM, "analyze", *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def sqlite_rows(path, sql):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        return sorted(base.execute(sql).fetchall(), key=repr)


def parquet(out, table):
    return (f"read_parquet('{out}/table={table}/*/*/*.parquet', hive_partitioning = true, "
            "hive_types_autocast = false)")


def parquet_rows(out, sql):
    """{table} in the text is that table of the fleet."""
    tables = {path.name[len("table="):]: parquet(out, path.name[len("table="):])
              for path in pathlib.Path(out).glob("table=*")}
    return sorted(duckdb.sql(sql.format(**tables)).fetchall(), key=repr)


def all_rows(out):
    """Of every table, but for those in which places of files stand."""
    return {path.name: parquet_rows(out, "SELECT * FROM {" + path.name[len("table="):] + "}")
            for path in sorted(pathlib.Path(out).glob("table=*")) if any(path.glob("day=*"))}


def read(spark, out, words, program=GPUSHIM):
    words = [str(word) for word in words]
    asked = types.SimpleNamespace(out=str(out), gpushim=program, price=2.0, words=words)
    return READ.read(spark, asked)


def executors():
    """Of our cluster, by the folder in which its workers put them."""
    work = str((BUILD / "fleet/test/spark").absolute())
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"CoarseGrainedExecutorBackend" in (place / "cmdline").read_bytes() \
                    and os.readlink(place / "cwd").startswith(work):
                yield int(place.name)


def wait_for_executors(spark):
    """Of both workers: then each of two tasks is of another one."""
    until = time.monotonic() + 600
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:  # and the driver
        if time.monotonic() > until:
            raise TimeoutError("the executors did not come")
        time.sleep(0.1)


def need_mounts():
    if "FLEET_TEST_MOUNTS" not in os.environ:
        raise unittest.SkipTest("no small disk can be mounted for us alone: that takes root, and unshare")


def fill(place):
    """The disk that it is on."""
    with open(place / "fill", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def make_traces(folder):
    """job-0, whose ranks are reduced one by one and of which one lacks; job-1 as one summary; what is odd."""
    subprocess.run([sys.executable, str(ROOT / "scripts/fleet/simulate"), str(folder), "--runs", "2",
                    "--ranks", "4", "--hosts", "2", "--steps", "10"], check=True, stderr=subprocess.DEVNULL)
    analyze(folder / "job-1", "-o", folder / "run.of.job-1")
    analyze("--rank-summary", folder / "job-1", "-o", folder / "whole.summary")
    shutil.rmtree(folder / "job-1")
    for rank in range(3):
        analyze("--rank-summary", "-o", folder / f"alone.{rank}", folder / f"job-0/{rank}.db")
    (folder / "job-0/3.db").unlink()
    odd = folder / "odd"
    odd.mkdir()
    shutil.copy(folder / "job-0/0.db", odd / "copy.db")
    (odd / "cut.db").write_bytes((folder / "job-0/0.db").read_bytes()[:50_000])
    shutil.copy(folder / "whole.summary", odd / "newer.summary")
    with contextlib.closing(sqlite3.connect(odd / "newer.summary")) as base:
        base.execute("PRAGMA user_version = 99")
    return [folder / "job-0", folder / "whole.summary", odd, folder / "gone.db"]


class OfOneFixture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-fleet-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.words, cls.out = make_traces(cls.folder), cls.folder / "out"
        cls.spark = engine.session(**{"spark.master": os.environ["SPARK_MASTER"]})
        cls.addClassCleanup(cls.spark.stop)
        cls.written, cls.other, cls.runs = read(cls.spark, cls.out, cls.words)

    def test_the_metrics_of_a_run_are_those_of_sqlite(self):
        sql = f"SELECT {FIGURES}, why FROM metric"
        expected = sqlite_rows(self.folder / "run.of.job-1", sql)
        found = parquet_rows(self.out, f"SELECT {FIGURES}, why FROM {{metric}} WHERE run = 'job-1'")
        self.assertEqual(found, expected)
        self.assertGreater(len(found), 100)
        sql = "SELECT name, scope, low, high, likely_low, likely_high FROM {} {}"
        self.assertEqual(parquet_rows(self.out, sql.format("{metric_interval}", "WHERE run = 'job-1'")),
                         sqlite_rows(self.folder / "run.of.job-1", sql.format("metric_interval", "")))

    def test_figures_of_ranks_that_were_reduced_alone_are_those_of_their_summaries(self):
        for scope in ("gpu", "rank"):
            sql = f"SELECT {FIGURES}, why FROM {{}} WHERE scope = '{scope}'"
            expected = [row for rank in range(3)
                        for row in sqlite_rows(self.folder / f"alone.{rank}", sql.format("metric"))]
            found = parquet_rows(self.out, sql.format("{metric}") + " AND run = 'job-0'")
            self.assertEqual(found, sorted(expected, key=repr), scope)

    def test_every_table_has_the_rows_of_its_summaries(self):
        for table in ("v_gpu_total", "v_gpu_idle", "kernel", "histogram", "launch_stat", "v_counted_step"):
            columns = [name for name, _ in engine.tables.schema()[table] if name not in ("gpu_id", "rank_id")]
            sql = f"SELECT {', '.join(columns)} FROM "
            expected = [row for place in [f"alone.{rank}" for rank in range(3)] + ["whole.summary"]
                        for row in sqlite_rows(self.folder / place, sql + table)]
            self.assertEqual(parquet_rows(self.out, sql + f"{{{table}}}"), sorted(expected, key=repr), table)

    def test_what_compares_ranks_is_not_known_of_ranks_that_were_reduced_alone(self):
        found = parquet_rows(self.out, "SELECT value, why FROM {metric}"
                                       " WHERE run = 'job-0' AND name = 'imbalance'")
        self.assertEqual([value for value, _ in found], [None])
        self.assertIn("one by one", found[0][1])

    def test_what_is_missing_cut_newer_or_given_twice_is_told(self):
        found = parquet_rows(self.out, "SELECT state FROM {coverage} WHERE state <> 'seen'")
        self.assertEqual([state for state, in found], ODD)
        missing = parquet_rows(self.out, "SELECT run, rank, ranks FROM {coverage} WHERE state = 'missing'"
                                         " AND run <> 'unknown'")
        self.assertEqual(missing, [("job-0", 3, 1)])
        seen = parquet_rows(self.out, "SELECT DISTINCT run, ranks_seen, ranks_expected FROM {metric}")
        self.assertEqual(seen, [("job-0", 3, 4), ("job-1", 4, 4)])

    def assert_same_answers(self, found, expected, name):
        """Two engines add up in another order, so the last bits of a real may differ, and nothing else."""
        self.assertEqual(list(map(len, found)), list(map(len, expected)), name)
        for left, right in zip(itertools.chain(*found), itertools.chain(*expected)):
            if isinstance(left, float):
                self.assertAlmostEqual(left, right, delta=abs(right) * 1e-12, msg=name)
            else:
                self.assertEqual(left, right, name)

    def test_duckdb_answers_every_question_as_spark_does(self):
        base = duckdb.connect()
        for table, columns in questions.asked_of().items():
            base.execute(f"CREATE VIEW {table} AS SELECT * FROM {parquet(self.out, table)}")
            self.assertGreater(len(columns), 1)
        for name, text in questions.texts().items():
            with contextlib.closing(sqlite3.connect(self.out / "fleet.db")) as answered:
                spark = sorted(answered.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            duck = sorted(base.execute(text).fetchall(), key=repr)
            self.assert_same_answers(duck, spark, name)

    def test_spark_answers_every_question_of_hand_made_rows_as_sqlite_does(self):
        """Six runs of one day, whose steps take longer from the third on: the fixture has two runs."""
        fleet = made_fleet.MadeFleet()
        self.addCleanup(fleet.close)
        for nth in range(6):
            gpus = [("a", f"GPU-{rank}", 20 if (rank, nth > 1) == (3, True) else 10) for rank in range(4)]
            fleet.add_run(nth, "2026-01-02", gpus, 20 if nth > 1 else 10, hour=nth)
        own = self.spark.newSession()
        for table, columns in questions.asked_of().items():
            columns = columns + tables.PARTS
            names = ", ".join(f'"{name}"' for name, _ in columns)
            rows = fleet.base.execute(f'SELECT {names} FROM "{table}"').fetchall()
            own.createDataFrame(rows, engine.struct(columns)).createOrReplaceTempView(table)
        for name, text in questions.texts().items():
            expected, found = fleet.base.execute(text).fetchall(), list(map(tuple, own.sql(text).collect()))
            self.assert_same_answers(found, expected, name)
            if name == "since_when":
                started_ns = 1_767_312_000_000_000_000 + 2 * made_fleet.HOUR_NS
                self.assertEqual([row[3:6] for row in found], [("2026-01-02", "job-2", started_ns)])

    def test_what_was_read_is_not_written_again(self):
        before = {path: path.stat().st_mtime_ns for path in self.out.glob("table=metric/*/*/*.parquet")}
        written, _, runs = read(self.spark, self.out, self.words)
        self.assertEqual((written, sorted(runs)), ([], ["job-0", "job-1"]))
        after = {path: path.stat().st_mtime_ns for path in self.out.glob("table=metric/*/*/*.parquet")}
        self.assertEqual(after, before)

    def test_files_behind_uris_are_read_as_those_of_a_folder(self):
        out = self.folder / "by_uri"
        read(self.spark, out, [word.as_uri() for word in self.words])

        def plain(rows):
            return {table: sorted(re.sub("file:/(//)?", "/", repr(row)) for row in of)
                    for table, of in rows.items()}

        self.assertEqual(plain(all_rows(out)), plain(all_rows(self.out)))
        self.assertEqual([place.suffix for place in (out / "summaries").iterdir()
                          if place.suffix != ".summary"], [])
        written, _, runs = read(self.spark, out, [word.as_uri() for word in self.words])
        self.assertEqual((written, sorted(runs)), ([], ["job-0", "job-1"]))

    def test_what_is_not_fetched_is_told_and_a_trace_stands_in_for_its_summary(self):
        place = self.folder / "behind"
        (place / "summaries").mkdir(parents=True)
        for name in ("whole", "running", "large", "older", "odd[1]", "odd1"):
            shutil.copy(self.folder / "job-0/0.db", place / f"{name}.db")
        (place / "running.db-wal").write_bytes(b"rows that are not in the trace yet")
        with open(place / "large.db", "ab") as large:
            large.truncate(remote.MOST_BYTES + 1)
        shutil.copy(self.folder / "alone.0", place / "older.summary")
        with contextlib.closing(sqlite3.connect(place / "older.summary")) as base:
            base.execute("PRAGMA user_version = 1")
        found, rows, beside = remote.listed(self.spark, [place.as_uri(), (place / "gone.db").as_uri()])
        tools = reduce.Tools(GPUSHIM, reduce.version_of(GPUSHIM), str(place / "summaries"))
        rows += remote.reduced(self.spark, found, tools, beside)
        states = {row["path"].rpartition("/")[2]: row["state"] for row in rows}
        self.assertEqual(states, {"whole.db": "reduced", "running.db": "still_written",
                                  "large.db": "too_large", "gone.db": "missing",
                                  "odd[1].db": "reduced", "odd1.db": "reduced",
                                  "older.summary": "older", "older.db": "reduced"})

    def test_an_executor_that_is_killed_changes_nothing(self):
        """Read again, all of it, while an executor goes: the same rows."""
        killed, over = [], threading.Event()

        def kill():
            while not killed and not over.wait(0.5):
                if any((self.folder / "again").glob("summaries/*")):
                    victim = next(executors(), None)
                    if victim is not None:
                        os.kill(victim, signal.SIGKILL)
                        killed.append(victim)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            read(self.spark, self.folder / "again", self.words)
        finally:
            over.set()
            killer.join()
        self.assertEqual(len(killed), 1)
        self.assertEqual(all_rows(self.folder / "again"), all_rows(self.out))

    def program_that_on_the_second_worker(self, text):
        """Says and does that; elsewhere it is gpushim."""
        place = self.folder / f"gpushim-{len(text)}"
        place.write_text(f"#!/bin/sh\ncase $(pwd -P) in */work-1/*) {text} ;; esac\n"
                         f"exec {GPUSHIM} \"$@\"\n", encoding="utf-8")
        place.chmod(0o755)
        return str(place)

    def hold_what_one_worker_did_not_read(self, out, program, state, why):
        """Of the three ranks of job-0 each worker has one or two. The figures say of how many they are, and
        ranks that are not in them are told, with the reason."""
        wait_for_executors(self.spark)
        written, other, runs = read(self.spark, out, [self.folder / "job-0"], program)
        found = parquet_rows(out, "SELECT path, state, why FROM {coverage} WHERE run = 'unknown'")
        seen = parquet_rows(out, "SELECT path FROM {coverage} WHERE state = 'seen'")
        self.assertIn(len(found), (1, 2))
        self.assertEqual(sorted(path for path, *_ in found + seen),
                         [str(self.folder / f"job-0/{rank}.db") for rank in range(3)])
        for _, known, words in found:
            self.assertEqual(known, state)
            self.assertRegex(words, why)
        self.assertEqual(parquet_rows(out, "SELECT DISTINCT ranks_seen, ranks_expected FROM {metric}"),
                         [(len(seen), 4)])
        missing = parquet_rows(out, "SELECT sum(ranks) FROM {coverage} WHERE state = 'missing'")
        self.assertEqual(missing, [(4 - len(seen),)])
        with contextlib.redirect_stderr(io.StringIO()) as told:
            self.assertEqual(READ.told(written, other, runs, time.monotonic()), 3)
        self.assertIn(f"{len(seen)} of 4 ranks seen", told.getvalue())
        self.assertIn(f"{state}: {len(found)}", told.getvalue())

    def test_a_worker_with_another_version_is_told_and_tried_again(self):
        out = self.folder / "versions"
        program = self.program_that_on_the_second_worker('echo "gpushim 0.0.1 (another)"; exit')
        self.hold_what_one_worker_did_not_read(out, program, "other_version",
                                               "has gpushim 0.0.1 .another., not gpushim")
        read(self.spark, out, [self.folder / "job-0"])
        for table in ("metric", "gpu", "kernel", "coverage"):
            sql = f"SELECT * FROM {{{table}}} WHERE run = 'job-0'"
            paths = [str(self.folder / f"{place}/summaries") for place in ("versions", "out")]
            found, expected = (repr(parquet_rows(place, sql)).replace(path, "")
                               for place, path in zip((out, self.out), paths))
            self.assertEqual(found, expected, table)
        self.assertEqual(parquet_rows(out, "SELECT path FROM {coverage} WHERE run = 'unknown'"), [])

    def test_a_worker_whose_disk_for_summaries_is_full_is_told(self):
        need_mounts()
        out = self.folder / "full"
        program = self.program_that_on_the_second_worker(
            f'[ "$1" = --version ] || exec unshare --mount sh -c \'mount -t tmpfs -o size=16k none "$0"'
            f' && exec "$@"\' {out}/summaries {GPUSHIM} "$@"')
        self.hold_what_one_worker_did_not_read(out, program, "not_written", "full|No space left")

    def test_the_report_says_what_was_not_seen(self):
        done = subprocess.run([GPUSHIM, "report", "--fleet", str(self.out)], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 3, done.stderr)
        for word in ("7 of 8", "missing", "cut", "newer", "duplicate"):
            self.assertIn(word, done.stdout)


class OfFullDisks(unittest.TestCase):
    """What Spark itself writes to: a disk for each worker, on which nothing more can be written."""

    @classmethod
    def setUpClass(cls):
        need_mounts()
        folder = tempfile.TemporaryDirectory(prefix="gpushim-fleet-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([sys.executable, str(ROOT / "scripts/fleet/simulate"), str(cls.folder), "--runs", "1",
                        "--ranks", "4", "--hosts", "1", "--steps", "6"], check=True,
                       stderr=subprocess.DEVNULL)
        analyze("--rank-summary", cls.folder / "job-0", "-o", cls.folder / "whole.summary")
        cls.disks = [BUILD / f"fleet/test/spark/local-{nth}" for nth in range(2)]
        for disk in map(pathlib.Path.absolute, cls.disks):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(disk)], check=True)
            cls.addClassCleanup(subprocess.run, ["umount", "--lazy", str(disk)], check=False)
        # How long a task that fails on every worker waits for yet another one; two minutes else.
        patience = {"spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout": "5s"}
        cls.spark = engine.session(**{"spark.master": os.environ["SPARK_MASTER"], **patience})
        cls.addClassCleanup(cls.spark.stop)
        wait_for_executors(cls.spark)

    def test_with_one_full_disk_all_is_read_and_with_two_nothing_is_changed(self):
        out, words = self.folder / "out", [self.folder / "whole.summary"]
        fill(self.disks[1])
        read(self.spark, out, words)
        sql = f"SELECT {FIGURES}, why FROM "
        analyze(self.folder / "job-0", "-o", self.folder / "run.of.job-0")
        self.assertEqual(parquet_rows(out, f"{sql} {{metric}}"),
                         sqlite_rows(self.folder / "run.of.job-0", f"{sql} metric"))
        self.assertEqual(parquet_rows(out, "SELECT DISTINCT state FROM {coverage}"), [("seen",)])

        before, answers = all_rows(out), (out / "fleet.db").read_bytes()
        fill(self.disks[0])
        os.utime(words[0])
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
            with failures.told("earlier tables are as they were", *engine.FAILURES):
                read(self.spark, out, words)
        self.assertEqual(ended.exception.code, 3)
        self.assertRegex(said.getvalue(),
                         "not read, earlier tables are as they were: .*No space left on device")
        self.assertEqual(said.getvalue().count("fleet: "), 1)
        self.assertEqual((all_rows(out), (out / "fleet.db").read_bytes()), (before, answers))


if __name__ == "__main__":
    unittest.main(verbosity=2)
