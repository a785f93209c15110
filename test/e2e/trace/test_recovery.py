"""What is killed loses nothing: its rings outlive it, and recovery puts what they hold into the trace, once.
Also what happens to a trace that others lock or that there is no room for."""
import ctypes
import hashlib
import os
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time

import box
import preload

SOURCE = pathlib.Path(__file__).parent / "recovery" / "busy.c"
THREADS = 3
# Calls of recovery/busy.c's threads that are recorded one by one.
COUNTED = ("cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuEventQuery", "cuStreamSynchronize",
           "cuModuleLoadData", "cuModuleGetFunction", "cuModuleUnload", "cuMemAlloc_v2", "cuStreamCreate",
           "cuEventCreate", "cuCtxSetCurrent")
# make faults FULL=1 takes the long numbers.
FULL = bool(os.environ.get("FAULTS_FULL"))
# How a process ends without a word: signals, and what recovery/busy.c does when it is told so.
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGSEGV, signal.SIGBUS, b"e", b"q", b"a")
# Those that the shim makes, too, where it takes device times: the box does not tell whose calls they are.
OURS_TOO = ("cuEventRecord", "cuEventQuery", "cuEventCreate", "cuStreamCreate", "cuCtxSetCurrent")
RECOVER = """
import ctypes, sys
shim = ctypes.CDLL(sys.argv[1])
print("go", flush=True)
sys.exit(shim.gpushim_recover(sys.argv[2].encode()))
"""


def recover(path):
    """(result, why it failed)"""
    shim = ctypes.CDLL(str(preload.SHIM))
    shim.gpushim_recovery_failure.restype = ctypes.c_char_p
    return shim.gpushim_recover(str(path).encode()), shim.gpushim_recovery_failure().decode()


def ring_folder(trace):
    uuid = preload.query(trace, "SELECT value FROM meta WHERE key = 'uuid'")[0][0]
    return pathlib.Path(f"/dev/shm/gpushim-{os.geteuid()}/{uuid}")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# The pages of a transaction, and not its end.
HALF_WRITTEN = """
import os, sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("PRAGMA journal_mode = TRUNCATE")
base.execute("PRAGMA cache_size = 1")
base.execute("BEGIN IMMEDIATE")
for table in "meta", "ring_commit", "clock", "api":
    base.execute(f"DELETE FROM {table}")
os._exit(0)
"""


class Busy:
    """One run of the busy program, traced."""

    def __init__(self, test, threads=THREADS, pause_us=0, truth=True, device_times=False):
        self.counted = [name for name in COUNTED if not device_times or name not in OURS_TOO]
        # Process ids come again: of hundreds of runs beside others some have the same.
        run = time.monotonic_ns()
        self.truth = test.folder / f"truth.{run}"
        self.out = test.folder / f"trace.{run}.db"
        knobs = {**preload.variables(test.folder), **preload.QUICK, "GPUSIM_KERNEL_US": 1,
                 "GPUSHIM_OUT": self.out,
                 "GPUSHIM_BUDGET": "100%", "GPUSHIM_DEVICE_TIME": "events" if device_times else "off"}
        if truth:
            knobs["GPUSIM_TRUTH"] = self.truth
        env = box.environment(knobs)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen([test.program(), str(threads), str(pause_us)], env=env,
                                        cwd=test.folder, restore_signals=False, **pipes)  # SIGXFSZ: ignored
        test.addCleanup(self.close)

    def ready(self):
        assert self.process.stdout.readline() == b"ready\n"

    def kill(self):
        self.end_by(signal.SIGKILL)

    def end_by(self, way):
        if isinstance(way, bytes):
            self.process.stdin.write(way)
            self.process.stdin.flush()
        else:
            self.process.send_signal(way)
        self.process.wait(60)

    def end(self):
        """Lets it end by itself; its exit status and what it said."""
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said.decode()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def trace(self):
        return self.out if self.out.exists() else None

    def entered(self, *names):
        """Calls that the program made of these, or of all that are counted."""
        counts = box.read_counts(f"{self.truth}.counts")
        return sum(counts[name].entered - counts[name].nested for name in names or self.counted
                   if name in counts)


class RecoveryCase(preload.PreloadCase):
    def program(self):
        path = self.folder / "busy"
        if not path.exists():
            preload.compiled(SOURCE.read_text(encoding="utf-8"), path)
        return path

    def known(self, trace, counted=COUNTED):
        """Of those calls, how many are in the trace: those that have ended."""
        names = ", ".join(f"'{name}'" for name in counted)
        return preload.query(trace, "SELECT coalesce(sum(calls), 0) FROM v_all v "
                                    "JOIN api a ON a.id = v.api_id "
                                    f"WHERE a.name IN ({names}) AND flags & 4 = 0")[0][0]

    def check_whole(self, run, threads=THREADS):
        """After recovery: every call that was entered is there, except the one that each thread was in."""
        trace = run.trace()
        terms = preload.ledger(trace)
        self.assertEqual(terms["unknown"], 0, terms)
        self.assertLessEqual(terms["unfinished"], threads + 1, terms)
        accounted = self.known(trace, run.counted) + terms["dropped"]
        self.assertLessEqual(accounted, run.entered(), terms)
        self.assertGreaterEqual(accounted, run.entered() - threads, terms)
        return terms


class Kills(RecoveryCase):
    """SIGKILL at random instants, 200 in all (2,000), and other ends that nobody is told of."""

    ROUNDS = 500 if FULL else 50

    def rounds(self, seed, rounds=ROUNDS, ways=(signal.SIGKILL,), least_s=0, **how):
        chance = random.Random(seed)
        recovered = 0
        for number in range(rounds):
            run = Busy(self, **how)
            way = ways[number % len(ways)]
            if isinstance(way, bytes) or chance.random() < 0.8:
                run.ready()
            resource.prlimit(run.process.pid, resource.RLIMIT_CORE, (0, 0))
            time.sleep(least_s + chance.random() * 0.15)
            run.end_by(way)
            trace = run.trace()
            if trace is not None and trace.stat().st_size > 0:
                recovered += self.recovered_once(run, trace)
            run.close()
        self.assertGreater(recovered, 1000)

    def recovered_once(self, run, trace):
        self.assertEqual(recover(trace), (0, ""))
        if not trace.read_bytes().startswith(b"SQLite format 3"):
            return 0  # killed while the trace was being made: before anything was recorded
        terms = self.check_whole(run)
        if not any(terms.values()):
            return 0  # the same: an empty journal may lie beside it, which stands for nothing
        # Closed as it should be: nothing lies beside it, even when it was read; all was recovered.
        before = digest(trace)
        self.assertEqual(list(self.folder.glob(trace.name + "-*")), [])
        self.assertEqual(recover(trace), (0, ""))
        self.assertEqual(digest(trace), before)
        return terms["recovered"]

    def test_at_random_instants_1(self):
        self.rounds(1)

    def test_at_random_instants_2(self):
        self.rounds(2)

    def test_at_random_instants_3(self):
        self.rounds(3)

    def test_at_random_instants_4(self):
        self.rounds(4)

    def test_ends_that_nobody_is_told_of(self):
        self.rounds(6, rounds=1600 if FULL else 16, ways=ENDS)

    def test_while_device_times_are_taken(self):
        """Slowly, so that nothing is dropped: of what is dropped the kind is not known. Device times come a
        while after their launches, on a busy machine a long one."""
        self.rounds(5, rounds=10, least_s=0.4, pause_us=50, device_times=True)
        timed = 0
        for trace in self.folder.glob("trace.*.db"):
            if trace.stat().st_size == 0:
                continue
            for table in ("launch", "copy"):
                alone = (f"SELECT count(*) FROM {table}_device "
                         f"WHERE enter_ns NOT IN (SELECT enter_ns FROM {table})")
                self.assertEqual(preload.query(trace, alone), [(0,)])
            timed += preload.query(trace, "SELECT count(*) FROM launch_device")[0][0]
        self.assertGreater(timed, 0)


class Recovery(RecoveryCase):
    def killed(self):
        run = Busy(self)
        run.ready()
        time.sleep(0.05)
        run.kill()
        return run

    def killed_while_rings_hold(self, launches=60):
        """However the machine divides its time: nothing is written while another holds the trace. Slowly, so
        that nothing is dropped before."""
        run = Busy(self, pause_us=1000)
        run.ready()
        other = sqlite3.connect(run.trace(), isolation_level=None, timeout=60)
        try:
            other.execute("BEGIN IMMEDIATE")
            enough = run.entered("cuLaunchKernel") + launches
            while run.entered("cuLaunchKernel") < enough:
                time.sleep(0.01)
            run.kill()
        finally:
            other.close()
        return run

    def test_a_kill_of_the_recovery_changes_nothing(self):
        chance = random.Random(5)
        cut_short = 0
        for _ in range(100 if FULL else 8):
            run = self.killed()
            folder = ring_folder(run.trace())
            for _ in range(6):
                words = [sys.executable, "-c", RECOVER, str(preload.SHIM), str(run.trace())]
                recovery = subprocess.Popen(words, stdout=subprocess.PIPE, env=box.environment(sim=False))
                recovery.stdout.readline()
                time.sleep(chance.random() * 0.02)
                recovery.kill()
                recovery.wait()
                recovery.stdout.close()
                cut_short += recovery.returncode == -signal.SIGKILL and folder.exists()
            self.assertEqual(recover(self.folder), (0, ""))
            self.check_whole(run)
            self.assertFalse(folder.exists())
        self.assertGreater(cut_short, 0)

    def test_who_lives_is_left_alone(self):
        run = Busy(self)
        run.ready()
        # A commit of the process may last longer than a recovery waits for it.
        said = {recover(self.folder) for _ in range(20)}
        self.assertIn((0, ""), said)
        self.assertLessEqual(said, {(0, ""), (1, "database is locked")})
        self.assertEqual(run.end(), (0, ""))
        terms = self.check_whole(run)
        self.assertEqual((terms["recovered"], terms["unfinished"]), (0, 0), terms)

    def test_names_are_recovered_with_their_launches(self):
        run = self.killed_while_rings_hold()
        recover(run.trace())
        rows = preload.query(run.trace(), "SELECT DISTINCT kernel FROM v_launch "
                                          "WHERE recovered = 1 AND unfinished = 0")
        self.assertEqual(rows, [("work",)])
        known = preload.query(run.trace(), "SELECT count(*) FROM v_launch "
                                           "WHERE stream IS NULL AND unfinished = 0")
        self.assertEqual(known, [(0,)])

    def test_a_copy_leaves_the_trace_and_its_rings_alone(self):
        copy = self.folder / "copy.db"
        trace = self.killed_while_rings_hold().trace()
        before = {path: digest(path) for path in self.folder.glob("trace.*")}
        shim = ctypes.CDLL(str(preload.SHIM))
        self.assertEqual(shim.gpushim_recover_copy(str(trace).encode(), str(copy).encode()), 0)
        self.assertEqual({path: digest(path) for path in self.folder.glob("trace.*")}, before)
        self.assertTrue(ring_folder(trace).exists())
        self.assertEqual(recover(trace), (0, ""))
        self.assertEqual(preload.ledger(copy), preload.ledger(trace))
        self.assertGreaterEqual(preload.ledger(copy)["recovered"], 60)

    def test_a_copy_takes_back_what_was_half_written(self):
        copy = self.folder / "copy.db"
        trace = self.killed_while_rings_hold().trace()
        subprocess.run([sys.executable, "-c", HALF_WRITTEN, str(trace)], check=True)
        self.assertGreater(trace.with_name(trace.name + "-journal").stat().st_size, 0)
        shim = ctypes.CDLL(str(preload.SHIM))
        self.assertEqual(shim.gpushim_recover_copy(str(trace).encode(), str(copy).encode()), 0)
        self.assertEqual(recover(trace), (0, ""))
        self.assertEqual(preload.ledger(copy), preload.ledger(trace))
        self.assertGreaterEqual(preload.ledger(copy)["recovered"], 60)

    def test_a_trace_that_cannot_be_read_keeps_its_rings(self):
        run = self.killed()
        trace = run.trace()
        folder = ring_folder(trace)
        for path in self.folder.glob("trace.*.db-*"):
            path.unlink()
        whole = trace.read_bytes()
        trace.write_bytes(whole[:4096] + b"x" * 4096)
        result, why = recover(trace)
        self.assertEqual(result, 1)
        self.assertNotEqual(why, "")
        self.assertTrue(folder.exists())

    def test_what_is_no_trace_is_nothing_to_recover(self):
        (self.folder / "trace.1.db").write_text("SQLite it is not", encoding="utf-8")
        self.assertEqual(recover(self.folder), (0, ""))
        self.assertEqual(recover(self.folder / "missing.db"), (0, ""))


class Trouble(RecoveryCase):
    """What others do to the trace delays it; what there is no room for is counted."""

    @staticmethod
    def let_run(pid, seconds):
        """Till the process has had so much of a processor."""
        def had_s():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        until_s = had_s() + seconds
        deadline = time.monotonic() + 60
        while had_s() < until_s and time.monotonic() < deadline:
            time.sleep(0.05)

    def test_no_room_until_there_is_again(self):
        run = Busy(self, truth=False)  # the box needs room for what it tells
        run.ready()
        limit = max(path.stat().st_size for path in self.folder.glob("trace.*")) + 64 * 1024
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (limit, -1))
        self.let_run(run.process.pid, 5)  # of its own time: on a busy machine rings fill later
        self.assertLessEqual(run.trace().stat().st_size, limit)
        full_ns = time.monotonic_ns()
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        for _ in range(200):
            time.sleep(0.1)
            if preload.query(run.trace(), "SELECT coalesce(max(enter_ns), 0) FROM launch")[0][0] > full_ns:
                break
        else:
            self.fail("nothing was written any more")
        status, said = run.end()
        self.assertEqual(status, 0)
        self.assertLessEqual(said.count("\n"), 1, said)
        self.assertEqual(recover(run.trace()), (0, ""))
        terms = preload.ledger(run.trace())
        self.assertGreater(terms["dropped"], 0)
        self.assertEqual((terms["unfinished"], terms["unknown"]), (0, 0), terms)

    def test_a_reader_that_stays(self):
        run = Busy(self, pause_us=500)
        run.ready()
        # Who begins to read in the first tenth of a second keeps the trace from getting its log.
        log, deadline = pathlib.Path(f"{run.trace()}-wal"), time.monotonic() + 60
        while not log.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        reader = sqlite3.connect(f"file:{run.trace()}?mode=ro", uri=True, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM launch").fetchall()
        time.sleep(0.5)
        self.assertEqual(run.end(), (0, ""))
        reader.close()
        self.assertEqual(recover(run.trace()), (0, ""))
        terms = self.check_whole(run, threads=0)
        self.assertEqual(terms["dropped"], 0, terms)

    def test_somebody_who_locks_the_trace(self):
        run = Busy(self)
        run.ready()
        other = sqlite3.connect(run.trace(), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(0.7)
        other.execute("ROLLBACK")
        other.close()
        status, said = run.end()
        self.assertEqual(status, 0)
        self.assertLessEqual(said.count("\n"), 1, said)
        self.assertEqual(recover(run.trace()), (0, ""))  # what there was no time for at the end
        self.check_whole(run, threads=0)
