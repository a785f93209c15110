"""A trace of a stated size: never larger at any look of another process, whatever happens to it, and its
totals stay right."""
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import threading
import time
import unittest
from typing import NamedTuple

import box
import optional
import preload

SOURCE = pathlib.Path(__file__).parent / "bounded" / "steps.c"
MEGABYTE = 1 << 20
SLOT_NS = 10_000_000_000
PATIENCE_S = 300  # for what is certain to come


def size_of(trace):
    size = 0
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            size += os.stat(f"{trace}{suffix}").st_size
        except FileNotFoundError:
            pass
    return size


def resident_kb(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        return int(text.split("VmRSS:")[1].split()[0])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None


class Slot(NamedTuple):
    """10 s of CLOCK_REALTIME, as steps.c prints them."""

    number: int
    from_ns: int
    begun: int
    ended: int
    sum_ns: int


def slots_of(printed):
    return [Slot(*map(int, line.split())) for line in printed.splitlines()[:-1]]


def missing_of_the_slowest(trace, slots):
    """What is not in the trace of the ten slots in which the mean step was the longest. A step at an edge is
    in two."""
    whole = [slot for slot in slots[:-1] if slot.ended]
    missing = []
    for slot in sorted(whole, key=lambda slot: -slot.sum_ns / slot.ended)[:10]:
        span = f"enter_ns >= {slot.from_ns} AND enter_ns < {slot.from_ns + SLOT_NS}"
        (steps, launches, gone), = preload.query(
            trace, f"SELECT (SELECT count(*) FROM marker WHERE kind = 'step' AND {span}), "
                   f"(SELECT count(*) FROM launch WHERE {span}), (SELECT count(*) FROM summarised "
                   f"WHERE from_ns < {slot.from_ns + SLOT_NS} AND until_ns > {slot.from_ns})")
        if abs(steps - slot.begun) > 1 or abs(launches - 20 * slot.begun) > 40 or gone:
            missing.append((slot, steps, launches, gone))
    return missing


class Watch(threading.Thread):
    """Looks every few milliseconds at how large the folder's traces are, and how large the process is."""

    def __init__(self, folder, pid=None):
        super().__init__(daemon=True)
        self.folder, self.pid = folder, pid
        self.sizes, self.resident = [], []
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.003):
            sizes = [size_of(trace) for trace in self.folder.glob("trace.*.db")]
            self.sizes.append(max(sizes, default=0))
            resident = self.pid and resident_kb(self.pid)
            if resident:
                self.resident.append(resident)

    def stop(self):
        self.over.set()
        self.join()
        return max(self.sizes, default=0)


class Case(preload.PreloadCase):
    def program(self):
        program = self.folder / "steps"
        if not program.exists():
            preload.compiled(SOURCE.read_text(encoding="utf-8"), program, "-l:libgpusim.so")
        return program

    def start(self, seconds, rate=0, *more, before=(), **knobs):
        """`more`: further seconds and rates, after those."""
        env = box.environment({**preload.variables(self.folder), "GPUSHIM_MIN_FREE_MB": 0, **knobs})
        command = [*before, self.program(), *map(str, (seconds, rate, *more))]
        started = subprocess.Popen(command, env=env, text=True, cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(started.kill)
        return started

    def finish(self, started, lines=0):
        """What it printed."""
        out, err = started.communicate(timeout=200)
        self.assertEqual(started.returncode, 0, err)
        self.assertLessEqual(len(err.splitlines()), lines, err)
        return out

    def true_calls(self, name):
        (counts,) = self.folder.glob("truth*.counts")
        return box.read_counts(counts)[name].returned

    def true_launches(self):
        return self.true_calls("cuLaunchKernel")

    def assert_totals_are_true(self, trace):
        copies, waits = self.true_calls("cuMemcpyHtoDAsync_v2"), self.true_calls("cuStreamSynchronize")
        self.assertEqual(preload.launches(trace), {"busy__2us": self.true_launches()})
        self.assertEqual(preload.query(trace, "SELECT kind, copies, bytes FROM v_copy_total"),
                         [("h2d", copies, 4096 * copies)])
        self.assertEqual(preload.query(trace, "SELECT api, calls FROM v_sync_total"),
                         [("cuStreamSynchronize", waits)])

    def wait_for(self, is_there):
        until = time.monotonic() + PATIENCE_S
        while not is_there():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def wait_for_trace(self):
        self.wait_for(lambda: self.traces() and self.traces()[0].stat().st_size > 0)
        return self.traces()[0]


class Stepped(Case):
    def test_ten_minutes_in_four_megabytes(self):
        started = self.start(590, 200, 10, 20_000, GPUSHIM_MAX_MB=4, GPUSIM_CLOCK="stepped",
                             GPUSHIM_BUDGET="100%", PRINT=1, GPUSIM_TRUTH=self.folder / "truth")
        watch = Watch(self.folder, started.pid)
        watch.start()
        slots = slots_of(self.finish(started))
        largest = watch.stop()
        trace = self.the_trace()

        self.assertLessEqual(largest, 4 * MEGABYTE)
        self.assertGreater(largest, 2 * MEGABYTE)
        self.assert_nothing_lost(trace)
        self.assert_totals_are_true(trace)
        (kept,), = preload.query(trace, "SELECT count(*) FROM launch")
        self.assertLess(kept, self.true_launches())
        half = len(watch.resident) // 2
        self.assertLess(max(watch.resident[half:]), max(watch.resident[:half]) + 16_000, "memory grows")
        self.assertEqual(missing_of_the_slowest(trace, slots), [])

    def test_the_report_says_which_spans_are_summarised(self):
        self.finish(self.start(300, 800, GPUSHIM_MAX_MB=2, GPUSIM_CLOCK="stepped"))
        done = box.run([preload.ANALYZER, "report", "--all", self.the_trace()], sim=False)
        self.assertIn("in the totals only", done.stdout)
        # From a histogram, but all calls took the same.
        self.assertRegex(done.stdout, r"cuLaunchKernel .* 4\.00 us  4\.00 us")
        full = self.folder / "full"
        full.mkdir()
        self.finish(self.start(20, 100, GPUSIM_CLOCK="stepped", GPUSHIM_OUT=full / "trace.db"))
        done = box.run([preload.ANALYZER, "report", "--all", full / "trace.db"], sim=False)
        self.assertNotIn("in the totals only", done.stdout)


# Rings of 5 MiB in all, which are soon full, in a place of their own: what is left there is recovered there.
SMALL_RINGS = ("unshare", "-m", "sh", "-c", f"""
mount -t tmpfs -o size=320m none /dev/shm || exit 3
"$@"; status=$?
LD_PRELOAD= {preload.ANALYZER} report "$PWD" >/dev/null 2>&1
exit $status""", "sh")


class FullSpeed(Case):
    in_memory = False

    def begin(self, seconds, launches=0, before=(), **knobs):
        return self.start(seconds, launches, before=before, GPUSIM_TRUTH=self.folder / "truth.%p",
                          **{**preload.QUICK, "GPUSHIM_MAX_MB": 4, **knobs})

    def accounted(self, trace):
        """Terms of the ledger; every call of the program is one of them."""
        self.recover()
        terms = preload.ledger(trace)
        self.assertEqual(terms["unknown"], 0, terms)
        return terms

    def drops(self, trace):
        return dict(preload.query(trace, "SELECT reason, events FROM v_drop"))

    def test_never_above(self):
        started = self.begin(1, 500_000)
        watch = Watch(self.folder)
        watch.start()
        self.finish(started)
        self.assertLessEqual(watch.stop(), 4 * MEGABYTE)
        trace = self.the_trace()
        self.accounted(trace)
        self.assertGreater(preload.query(trace, "SELECT count(*) FROM summarised")[0][0], 0)
        self.assertEqual(preload.query(trace, "PRAGMA integrity_check"), [("ok",)])
        total = preload.launches(trace)["busy__2us"]
        lost = preload.ledger(trace)["dropped"]
        self.assertLessEqual(total, self.true_launches())
        self.assertGreaterEqual(total + lost, self.true_launches())
        report = box.run([preload.ANALYZER, "report", "--all", trace], sim=False).stdout
        self.assertRegex(report, r"cuLaunchKernel .* ~", "percentiles from histograms are rough")

    def read_for(self, seconds, trace):
        """Until the writer, too, has seen that nobody reads any more."""
        reader = sqlite3.connect(f"file:{trace}?mode=ro", uri=True, isolation_level=None)
        reader.execute("BEGIN")
        newest, = reader.execute("SELECT max(enter_ns) FROM launch").fetchone()
        time.sleep(seconds)
        self.assertEqual(reader.execute("SELECT max(enter_ns) FROM launch").fetchone(), (newest,))
        reader.execute("COMMIT")
        reader.close()
        left_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.wait_for(lambda: preload.query(trace, "SELECT max(enter_ns) FROM launch")[0][0] > left_ns)

    @unittest.skipUnless(optional.may_mount(), optional.lacks("namespaces"))
    def test_with_a_reader_it_stops_counts_and_goes_on(self):
        enough = self.folder / "enough"
        started = self.begin(0, before=SMALL_RINGS, UNTIL=enough)
        watch = Watch(self.folder)
        watch.start()
        trace = self.wait_for_trace()
        time.sleep(1)
        # Where the program and its writer get little of a processor, it takes long until rings are full.
        for seconds in (5, 10, 20, 40):
            self.read_for(seconds, trace)
            if self.drops(trace).get("reader", 0) > 0:
                break
        enough.touch()
        self.finish(started, lines=1)
        self.assertLessEqual(watch.stop(), 4 * MEGABYTE)
        self.accounted(trace)
        self.assertGreater(self.drops(trace).get("reader", 0), 0)

    @unittest.skipUnless(optional.may_mount(), optional.lacks("namespaces"))
    def test_without_free_disk_nothing_is_written_and_it_counts(self):
        started = self.begin(1, 300_000, before=SMALL_RINGS, GPUSHIM_MIN_FREE_MB=1 << 40)
        self.finish(started, lines=1)
        trace = self.the_trace()
        self.accounted(trace)
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM launch WHERE flags & 8 = 0"), [(0,)])
        self.assertGreater(self.drops(trace).get("disk", 0), 0)
        launches = preload.launches(trace)["busy__2us"]
        self.assertGreaterEqual(launches + self.drops(trace)["disk"], self.true_launches())

    def test_killed_while_rows_go(self):
        chance = random.Random(1)
        launches = 0
        for _ in range(6):
            for path in [*self.folder.glob("trace.*"), *self.folder.glob("truth*")]:
                path.unlink()
            started = self.begin(30)
            trace = self.wait_for_trace()
            time.sleep(0.3 + chance.random())
            started.send_signal(signal.SIGKILL)
            started.wait()
            started.communicate()
            terms = self.accounted(trace)
            self.assertEqual(preload.query(trace, "PRAGMA integrity_check"), [("ok",)])
            self.assertLessEqual(size_of(trace), 4 * MEGABYTE)
            total = preload.launches(trace).get("busy__2us", 0)
            launches += total
            self.assertLessEqual(total, self.true_launches())
            self.assertGreaterEqual(total + terms["dropped"] + terms["unfinished"], self.true_launches() - 1)
        self.assertGreater(launches, 0)

    def test_each_trace_has_its_own_size(self):
        """The size that it was begun with, also where it is recovered by somebody with another."""
        for megabytes in (4, 2):
            folder = self.folder / str(megabytes)
            folder.mkdir()
            started = self.begin(30, GPUSHIM_MAX_MB=megabytes, GPUSHIM_OUT=folder / "trace.%p.db")
            self.wait_for(lambda folder=folder: any(folder.glob("*.db")))
            (trace,) = folder.glob("*.db")
            half = megabytes * MEGABYTE // 2
            self.wait_for(lambda trace=trace, half=half: size_of(trace) > half)
            time.sleep(1)
            started.send_signal(signal.SIGKILL)
            started.wait()
            started.communicate()
            done = box.run([preload.ANALYZER, "report", trace], {"GPUSHIM_MAX_MB": 1}, sim=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(preload.ledger(trace)["unknown"], 0)
            self.assertLessEqual(size_of(trace), megabytes * MEGABYTE)
            self.assertGreater(size_of(trace), half)


class Files(Case):
    def test_off_rests_and_resumes(self):
        """How soon is told where time is exact: in stepped time."""
        off, enough = self.folder / "gpushim.off", self.folder / "enough"
        started = self.start(0, GPUSIM_LAUNCH_NS=100_000, UNTIL=enough)
        trace = self.wait_for_trace()

        def when(kind):
            return preload.query(trace, f"SELECT max(enter_ns) FROM marker WHERE kind = '{kind}'")[0][0]

        self.wait_for(lambda: preload.query(trace, "SELECT count(*) FROM launch")[0][0] > 100)
        before_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        off.touch()
        self.wait_for(lambda: when("rest"))
        time.sleep(0.3)
        off.unlink()
        self.wait_for(lambda: when("resume"))
        rest_ns, resume_ns = when("rest"), when("resume")
        later = f"SELECT count(*) FROM launch WHERE enter_ns > {resume_ns}"
        self.wait_for(lambda: preload.query(trace, later)[0][0] > 100)
        enough.touch()
        self.finish(started)
        self.assertTrue(before_ns < rest_ns < resume_ns)
        marks = preload.query(trace, "SELECT kind FROM marker WHERE kind IN ('rest', 'resume')")
        self.assertEqual(marks, [("rest",), ("resume",)])
        between = preload.query(trace, "SELECT count(*) FROM launch WHERE "
                                       f"enter_ns > {rest_ns + 10_000_000} AND enter_ns < {resume_ns}")
        self.assertEqual(between, [(0,)])
        self.assertEqual(preload.ledger(trace)["unknown"], 0)

    def test_off_in_stepped_time(self):
        (self.folder / "gpushim.off").touch()
        self.finish(self.start(10, 100, GPUSIM_CLOCK="stepped"))
        trace = self.the_trace()
        self.assertEqual(preload.query(trace, "SELECT kind FROM marker WHERE kind <> 'step'"), [("rest",)])
        self.assertLess(preload.query(trace, "SELECT count(*) FROM launch")[0][0], 100)

    def test_keep_marks_what_is_written(self):
        (self.folder / "gpushim.keep").touch()
        self.finish(self.start(30, 100, GPUSIM_CLOCK="stepped"))
        asked = preload.query(self.the_trace(), "SELECT min(asked), count(*) >= 3 FROM kept_slot")
        self.assertEqual(asked, [(1, 1)])
