"""The hang alarm of one process: what it says, what it runs, and when it keeps quiet. Which rank of a job is
missing: test_watch.py."""
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import box
import optional
from preload import SHIM, PreloadCase, compiled, query, variables

WAITS = pathlib.Path(__file__).parent / "hang" / "waits.py"
PATIENCE_S = 300
# From ten seconds on a length has no decimals.
LINE = r"gpushim: process \d+ hangs: no operation for \d+(?:\.\d)? s; " \
       r"(\w+) has not returned for \d+(?:\.\d)? s, at " \
       rf"{re.escape(str(WAITS))}:\d+ (\w+); which rank is missing: gpushim watch /\S+/\n"
WENT_ON = r"gpushim: no hang any more: it went on after \d+ s\n"
# A machine that is busy is slow: what takes so long hangs for certain, what takes half does not.
AFTER_S, LONG_S = 3, 12
MANY = 8  # of processes at once
# A disk that takes twice as long as a hang, twice.
SLEEPY = f"""
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
ssize_t pwrite64(int file, const void* from, size_t size, off_t at) {{
    static int times = 0, calls = 0;
    if (++calls > 20 && times < 2) {{
        ++times;
        close(open("slept", O_CREAT | O_WRONLY, 0600));
        sleep({2 * AFTER_S});
    }}
    typedef ssize_t (*Write)(int, const void*, size_t, off_t);
    return ((Write)dlsym(RTLD_NEXT, "pwrite64"))(file, from, size, at);
}}
"""
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17


class Waits(PreloadCase):
    def waits(self, what, seconds, timeout=120, **knobs):
        knobs = {**variables(self.folder), "GPUSHIM_HANG_AFTER": AFTER_S, **knobs}
        done = box.run([sys.executable, WAITS, what, seconds], knobs, timeout=timeout, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def rows(self):
        return query(self.the_trace(), "SELECT over, for_ns, limit_ns, usual_ns FROM hang ORDER BY mono_ns")

    def threads(self):
        return query(self.the_trace(), "SELECT name, call, call_ns, state, blocked_on, cpu_ns, native_stack,"
                                       " python FROM hang_thread")


class Alarm(Waits):
    def test_a_wait_for_the_device_is_said_and_recorded(self):
        done = self.waits("device", LONG_S)
        self.assertRegex(done.stderr, rf"\A{LINE}{WENT_ON}\Z")
        self.assertEqual(re.match(LINE, done.stderr).groups(), ("cuCtxSynchronize", "device"))
        (over, for_ns, limit_ns, usual_ns), (went_on, all_ns, _, _) = self.rows()
        self.assertEqual((over, went_on, limit_ns, usual_ns), (0, 1, AFTER_S * 10**9, None))
        self.assertTrue(limit_ns <= for_ns <= all_ns, (for_ns, all_ns))
        (_, call, call_ns, state, _, cpu_ns, native, python), = self.threads()
        self.assertEqual(call, "cuCtxSynchronize")
        # Its ticks are turned into time by a rate that was measured at the start, to less than 1 %.
        self.assertGreater(call_ns, 0.99 * AFTER_S * 10**9)
        self.assertIn(state, "SRD")
        if state != "R" and not os.access("/proc/self/syscall", os.R_OK):
            self.skipTest(optional.lacks("proc_syscall"))
        if state != "R":
            self.check_native(native.splitlines())
        self.assertLess(cpu_ns, 2 * call_ns)
        innermost, *_, outermost = python.splitlines()
        self.assertRegex(innermost, rf"^{re.escape(str(WAITS))}:\d+ device$")
        self.assertRegex(outermost, r"<module>$")

    def check_native(self, frames):
        """From the driver through the library to the interpreter, and none of them made up."""
        files = [frame.split("+0x")[0] for frame in frames]
        driver, library = files.index("libcuda.so.1"), files.index("libgpushim.so")
        self.assertLess(driver, library, frames)
        interpreter = os.path.basename(os.path.realpath(sys.executable))
        self.assertTrue(any(file.startswith(("libpython", interpreter)) for file in files[library:]), frames)

    def killed(self, number):
        """Half of them some time after they began to wait, half of them shortly after they said so."""
        knobs = {**variables(self.folder), "GPUSHIM_HANG_AFTER": 1}
        with subprocess.Popen([sys.executable, WAITS, "device", str(LONG_S)], env=box.environment(knobs),
                              cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
            said = number % 2 and job.stderr.readline()
            time.sleep(0.01 * number if said else 1 + 0.15 * number)
            job.kill()
        return said

    def test_what_is_recorded_of_a_hang_is_whole_whenever_it_is_killed(self):
        """So many at once that none has a processor for itself: threads are looked at late, and while others
        of the process run."""
        with concurrent.futures.ThreadPoolExecutor(MANY) as pool:
            said = [line for line in pool.map(self.killed, range(MANY)) if line]
        self.assertEqual(len(said), MANY // 2)
        self.recover()
        hangs = 0
        for trace in self.traces():
            self.assertEqual(query(trace, "PRAGMA integrity_check"), [("ok",)])
            moments = query(trace, "SELECT mono_ns FROM hang WHERE over = 0")
            hangs += len(moments)
            threads = query(trace, "SELECT mono_ns, call, native_stack, python FROM hang_thread")
            self.assertEqual({moment for moment, *_ in threads}, {moment for moment, in moments})
            for _, call, native, python in threads:
                self.assertEqual(call, "cuCtxSynchronize")
                self.assertRegex(python, rf"^{re.escape(str(WAITS))}:\d+ device\n")
                for frame in (native or "").splitlines():
                    self.assertRegex(frame, r"^\S+\+0x[0-9a-f]+$")
        self.assertGreater(hangs, 0)

    def test_polls_that_go_on_are_a_wait(self):
        done = self.waits("polls", LONG_S)
        self.assertRegex(done.stderr, rf"\A{LINE}{WENT_ON}\Z")
        self.assertEqual(re.match(LINE, done.stderr)[1], "cuStreamQuery")

    def test_pauses_and_other_threads_work_are_no_hang(self):
        for what, knobs in (("computes", {}), ("beside", {}), ("device", {"GPUSHIM_HANG_AFTER": 0}),
                            ("device", {"GPUSHIM_HANG_AFTER": 10 * LONG_S})):
            with self.subTest(what, **knobs):
                self.assertEqual(self.waits(what, LONG_S / 2, **knobs).stderr, "")
                trace = self.the_trace()
                self.assertEqual(query(trace, "SELECT * FROM hang"), [])
                trace.unlink()

    def test_training_with_its_pauses_is_no_hang(self):
        """`make test` takes seconds, FAULTS_FULL five minutes."""
        seconds = 300 if os.environ.get("FAULTS_FULL") else 15
        self.assertEqual(self.waits("trains", seconds, timeout=2 * seconds + 60).stderr, "")
        self.assertEqual(query(self.the_trace(), "SELECT * FROM hang"), [])

    def test_a_disk_that_is_slow_is_no_hang(self):
        """The writer is held up for longer than a hang takes, while the program works."""
        sleepy = self.folder / "sleepy.so"
        compiled(SLEEPY, sleepy, "-shared", "-fPIC")
        done = self.waits("trains", 15, LD_PRELOAD=f"{SHIM}:{sleepy}")
        self.assertEqual(done.stderr, "")
        self.assertTrue((self.folder / "slept").exists())
        self.assertEqual(query(self.the_trace(), "SELECT * FROM hang"), [])

    def test_an_hour_of_stepped_time_is_no_hang(self):
        train = box.ROOT / "examples" / "train" / "train.py"
        words = ["--ranks", 1, "--steps", 120, "--slow-input", 30000]
        done = self.traced([sys.executable, "-B", train, *words],
                           stderr=None, GPUSIM_CLOCK="stepped", GPUSHIM_HANG_AFTER=5)
        self.assertNotIn("hang", done.stderr)
        self.assertIn("step 119", done.stdout)
        trace, = self.traces()
        (first, last), = query(trace, "SELECT min(enter_ns), max(enter_ns) FROM launch")
        self.assertGreater(last - first, 3500 * 10**9)
        self.assertEqual(query(trace, "SELECT * FROM hang"), [])


class Command(Waits):
    def ran(self, command, **knobs):
        done = self.waits("device", LONG_S, GPUSHIM_ON_HANG=command, **knobs)
        self.assertEqual(done.stdout, "waits\nover\n", "a child was seen")
        return done

    def test_the_verdict_is_on_its_input_and_it_is_no_child_of_the_program(self):
        verdict, seen = self.folder / "verdict", self.folder / "seen"
        self.ran(f"cat > {verdict}; cat /proc/$$/stat /proc/$$/status /proc/$$/environ > {seen};"
                 f" ls /proc/self/fd > {seen}.files; sleep 1; mv {seen} {seen}.whole")
        said = json.loads(verdict.read_bytes())
        self.assertEqual((said["gpushim_hang"], said["rank"]), (1, None))
        self.assertEqual(said["trace"], str(self.the_trace()))
        self.assertGreaterEqual(said["for_ns"], said["limit_ns"])
        thread, = said["threads"]
        self.assertEqual((thread["call"], thread["python"][0]["function"]), ("cuCtxSynchronize", "device"))
        text = (self.folder / "seen.whole").read_text(encoding="utf-8")
        parent, group, session = map(int, text.split(") ")[1].split()[1:4])
        self.assertNotEqual(parent, said["pid"])
        self.assertEqual(group, session)
        self.assertIn(f"GPUSHIM_HANG_PID={said['pid']}\0", text)
        self.assertNotIn("LD_PRELOAD", text)
        self.assertRegex(text, r"SigIgn:\t0+\n")  # Python ignores SIGPIPE
        self.assertNotIn("libgpushim", text)
        self.assertEqual((self.folder / "seen.files").read_text().split(), ["0", "1", "2", "3"])

    def test_what_it_prints_goes_to_stderr_and_its_failure_is_seen(self):
        done = self.ran("echo called; no-such-program")
        self.assertRegex(done.stderr, rf"\A{LINE}called\n\S*sh: .*no-such-program.*\n{WENT_ON}\Z")

    def test_it_runs_once(self):
        done = self.ran("echo called")
        self.assertEqual(done.stderr.count("called"), 1)


class Debugger(PreloadCase):
    def test_a_thread_that_a_debugger_holds_is_no_hang_until_it_lets_go(self):
        said = self.folder / "stderr"
        knobs = {**variables(self.folder), "GPUSHIM_HANG_AFTER": AFTER_S}
        with open(said, "wb") as stderr, subprocess.Popen(
                [sys.executable, WAITS, "device", "600"], env=box.environment(knobs), stdout=subprocess.PIPE,
                stderr=stderr) as job:
            try:
                self.hold_and_let_go(job, said)
            finally:
                job.kill()
        self.assertRegex(said.read_text(encoding="utf-8"), rf"\A{LINE}\Z")

    def hold_and_let_go(self, job, said):
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(job.stdout.readline(), b"waits\n")
        if libc.ptrace(PTRACE_SEIZE, job.pid, 0, 0) or libc.ptrace(PTRACE_INTERRUPT, job.pid, 0, 0):
            self.skipTest(f"ptrace is not allowed here ({os.strerror(ctypes.get_errno())})")
        os.waitpid(job.pid, 0x40000000)  # __WALL
        time.sleep(3 * AFTER_S)
        self.assertEqual(said.read_bytes(), b"")
        libc.ptrace(PTRACE_DETACH, job.pid, 0, 0)
        until = time.monotonic() + PATIENCE_S
        while not said.read_bytes().endswith(b"\n") and time.monotonic() < until:
            time.sleep(0.1)

    def test_a_process_that_was_stopped_is_no_hang(self):
        """It is inside of the call before that and afterwards, for less than a hang takes."""
        knobs = {**variables(self.folder), "GPUSHIM_HANG_AFTER": 2 * AFTER_S}
        with subprocess.Popen([sys.executable, WAITS, "device", str(4 * AFTER_S)], env=box.environment(knobs),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            self.assertEqual(job.stdout.readline(), "waits\n")
            time.sleep(1)
            os.kill(job.pid, signal.SIGSTOP)
            threading.Timer(3 * AFTER_S, os.kill, (job.pid, signal.SIGCONT)).start()
            self.assertEqual(job.communicate(timeout=PATIENCE_S), ("over\n", ""))
