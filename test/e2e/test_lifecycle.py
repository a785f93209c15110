"""How a traced program begins, forks and ends: its results are those without the shim, and its trace is
whole."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import box
import preload

SOURCE = pathlib.Path(__file__).parent / "lifecycle" / "host.c"
COPIES = 100  # of lifecycle/host.c's work()
COUNT_COPIES = "SELECT count(*) FROM copy WHERE flags & 4 = 0"


class LifecycleCase(preload.PreloadCase):
    def host(self):
        """The program, built once per test, outside of the folder that the test looks at."""
        if not hasattr(self, "program"):
            folder = tempfile.mkdtemp(prefix="gpushim-host-")
            self.addCleanup(shutil.rmtree, folder)
            self.program = preload.compiled(SOURCE.read_text(encoding="utf-8"), pathlib.Path(folder) / "host")
        return self.program

    def same(self, *words, **knobs):
        """Runs it with and without the shim; both do the same. Returns the traced run."""
        command = [self.host(), *words]
        others = {name: value for name, value in knobs.items() if name not in preload.variables(self.folder)}
        alone = box.run(command, {**preload.QUICK, **others}, cwd=self.folder)
        done = box.run(command, {**preload.variables(self.folder), **preload.QUICK, **knobs}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (alone.returncode, alone.stdout), done.stderr)
        return done

    def copies(self, trace=None):
        return preload.query(trace or self.the_trace(), COUNT_COPIES)[0][0]

    def assert_no_rings_left(self):
        """Of processes whose traces are in this test's folder."""
        folder = str(self.folder).encode()
        own = pathlib.Path("/dev/shm")
        left = [ring for traced in own.glob("gpushim-*/*") for ring in preload.listed(traced)
                if ring.name.startswith("ring-") and folder in preload.content(ring)[:4096]]
        self.assertEqual(left, [])


class Ends(LifecycleCase):
    """X1: with an exit, everything is in the trace and nothing is left elsewhere."""

    def clean_end(self, *words, copies=COPIES):
        done = self.same(*words)
        self.assertEqual(done.stderr, "")
        self.assertEqual(list(self.folder.iterdir()), [self.the_trace()])
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), copies)
        self.assert_no_rings_left()

    def test_return(self):
        self.clean_end("return")

    def test_exit(self):
        self.clean_end("exit")

    def test_exit_in_a_thread(self):
        self.clean_end("exit_in_thread")

    def test_main_ends_before_a_thread(self):
        self.clean_end("pthread_exit", copies=2 * COPIES)

    def test_calls_after_the_end_pass(self):
        for exits in ("first", "last"):
            with self.subTest(exits=exits):
                self.same("late_call", GPUSIM_EXIT=exits)


class Deaths(LifecycleCase):
    """X2: nothing of ours runs, and nothing is lost."""

    def sudden_end(self, *words):
        done = self.same(*words)
        self.assertEqual(done.stderr, "")
        self.recover()
        terms = preload.ledger(self.the_trace())
        self.assertEqual((terms["dropped"], terms["unfinished"], terms["unknown"]), (0, 0, 0), terms)
        self.assertEqual(self.copies(), COPIES)

    def test_underscore_exit(self):
        self.sudden_end("_exit")

    def test_quick_exit(self):
        self.sudden_end("quick_exit")

    def test_abort(self):
        self.sudden_end("abort")

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
            with self.subTest(signal=number.name):
                self.sudden_end("signal", str(int(number)))
                for trace in self.traces():
                    trace.unlink()

    def test_exec(self):
        self.same("exec")
        self.recover()
        traces = self.traces()
        self.assertEqual(len(traces), 2, "the new program has the old one's pid: its trace a numbered name")
        self.assertEqual(traces[0].name, traces[1].name.replace(".db", ".2.db"))
        self.assertEqual([self.copies(trace) for trace in traces], [COPIES, COPIES])


class Children(LifecycleCase):
    """F1, F2, F4: children are dark until they use the GPU themselves, and never hang."""

    def dark(self, way):
        command = [self.host(), way]
        done = box.run(command, {**preload.variables(self.folder), **preload.QUICK}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, "60 children\n"), done.stderr)
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), int(done.stderr))
        childrens = preload.query(self.the_trace(), "SELECT count(*) FROM call JOIN api ON api.id = api_id "
                                                    "WHERE base = 'cuCtxPopCurrent'")
        self.assertEqual(childrens[0][0], 0, "calls that only the children made")
        self.assert_no_rings_left()

    def test_fork(self):
        self.dark("fork")

    def test_bare_fork(self):
        self.dark("_Fork")

    def test_raw_clone(self):
        self.dark("clone")

    def test_vfork(self):
        self.same("vfork")
        self.assertEqual(self.copies(), COPIES)

    def test_a_child_that_exits_leaves_the_parents_trace_alone(self):
        self.same("child_exits")
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), 2 * COPIES)

    def test_a_child_with_a_context_has_a_trace_of_its_own(self):
        self.same("own_child")
        traces = self.traces()
        self.assertEqual(sorted(map(self.copies, traces)), [COPIES, 2 * COPIES])
        processes = {preload.query(trace, "SELECT pid, parent_pid FROM process")[0] for trace in traces}
        pids = {pid for pid, _ in processes}
        self.assertEqual(len([parent for _, parent in processes if parent in pids]), 1)


class Threads(LifecycleCase):
    def test_50000_short_ones(self):
        """F7: none is lost, and memory is what a few rings take."""
        self.same("threads", "50000")
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), 7 * 50000)
        question = "SELECT count(*), count(DISTINCT thread_id) FROM thread, copy WHERE thread_id = thread.id"
        threads = preload.query(self.the_trace(), question)
        self.assertEqual(threads[0][1], 50000)

    def test_a_small_stack_is_enough(self):
        self.same("tiny_stack")
        self.assertEqual(self.copies(), 7)

    def test_threads_of_ours_are_the_writer_and_those_for_the_driver_and_nvml(self):
        done = box.run([self.host(), "tasks"], {**preload.variables(self.folder), **preload.QUICK})
        alone = box.run([self.host(), "tasks"], preload.QUICK)
        words = done.stdout.split()
        for ours in ("gpushim", "gpushim", "gpushim-nvml"):
            words.remove(ours)
        self.assertEqual(words, alone.stdout.split())


class Descriptors(LifecycleCase):
    def test_a_program_that_closes_everything(self):
        """D8: our descriptors are not the program's: neither closed by it nor written to as its files."""
        self.same("closes")
        for path in self.folder.glob("host.*"):
            self.assertEqual(path.read_bytes(), b"mine")
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), 21 * COPIES)

    def test_who_waits_for_its_output_to_end_does_not_wait_for_us(self):
        env = box.environment({**preload.variables(self.folder), **preload.QUICK})
        with subprocess.Popen([self.host(), "silent", "3000"], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder) as program:
            self.assertEqual(program.stdout.read(), b"copied\n")
            self.assertIsNone(program.poll(), "its output ended only with the program")
            self.assertEqual(program.wait(30), 0)
        self.assertEqual(self.copies(), 2 * COPIES)


class SharedDescriptors(LifecycleCase):
    """Where the kernel gives the writer no table of its own."""
    REFUSING = """
    #include <dlfcn.h>
    #include <errno.h>
    #include <sys/syscall.h>
    int unshare(int what) { return (void)what, errno = EPERM, -1; }
    long syscall(long number, long a, long b, long c, long d, long e, long f) {
        if (number == SYS_close_range && c != 0) return errno = EPERM, -1;
        return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a, b, c, d, e, f);
    }
    """

    def refusing(self, more=""):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpushim-host-"))
        self.addCleanup(shutil.rmtree, folder)
        library = preload.compiled(self.REFUSING + more, folder / "refusing.so", "-shared", "-fPIC")
        return {"LD_PRELOAD": f"{preload.SHIM}:{library}", "GPUSHIM_OUT": f"{self.folder}/trace.%p.db"}

    def refused(self, *words):
        return self.same(*words, **self.refusing())

    def test_all_is_well_while_nobody_closes_them(self):
        self.refused("return")
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), COPIES)

    def test_not_a_byte_in_the_programs_files(self):
        done = self.refused("closes", "400")
        for path in self.folder.glob("host.*"):
            self.assertEqual(path.read_bytes(), b"mine")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("has closed the files", done.stderr)
        self.recover()
        self.assertEqual(self.copies(), 21 * COPIES, "the rings had room for what came afterwards")
        self.assertEqual(preload.ledger(self.the_trace())["dropped"], 0)


    def test_what_the_rings_cannot_hold_then_is_counted_with_its_reason(self):
        copies = preload.MORE_THAN_RINGS_HOLD
        done = box.run([box.BUILD / "faults" / "host", "closes", copies],
                       {**preload.QUICK, **self.refusing(preload.SMALL_TMPFS)}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, f"{copies} copies\n"), done.stderr)
        self.recover()
        lost = dict(preload.query(self.the_trace(), "SELECT reason, events FROM v_drop"))
        self.assertEqual(list(lost), ["writer_down"])
        self.assertEqual(self.copies() + lost["writer_down"], 100 + 10 + copies)
        self.assertEqual(preload.ledger(self.the_trace())["unknown"], 0)


class Results(LifecycleCase):
    def test_signal_handlers_and_mask_are_the_programs_own(self):
        self.same("signals")
        self.assertEqual(preload.ledger(self.the_trace())["unknown"], 0)

    def test_errno_is_kept(self):
        done = self.same("errno")
        self.assertIn("errno 77, error none", done.stdout)

    def test_markers(self):
        self.traced([self.host(), "marks"], **preload.QUICK)
        rows = preload.query(self.the_trace(), "SELECT kind, value, text FROM marker LEFT JOIN name "
                                               "ON name.id = name_id ORDER BY enter_ns")
        text = "half of it, and more than a slot's worth of text"
        self.assertEqual(rows, [("step", None, None), ("step", 32, None), ("mark", None, text)])


class NothingToTrace(LifecycleCase):
    def assert_untouched(self):
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assert_no_rings_left()

    def test_a_program_that_only_counts_devices(self):
        done = self.same("asks")
        self.assertEqual(done.stderr, "")
        self.assert_untouched()

    def test_switched_off(self):
        self.same("return", GPUSHIM_DISABLE=1)
        self.assert_untouched()

    def test_another_rank(self):
        self.same("return", GPUSHIM_RANKS="0,8-15", RANK="3")
        self.assert_untouched()
        self.same("return", GPUSHIM_RANKS="0,8-15", RANK="9")
        self.assertEqual(self.copies(), COPIES)


class Output(LifecycleCase):
    def one_warning(self, done, *words):
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        for word in ("gpushim", *words):
            self.assertIn(word, lines[0])

    def test_a_folder_that_is_not_there(self):
        done = self.same("return", GPUSHIM_OUT="/nowhere/at/all.db")
        self.one_warning(done, "/nowhere/at/all.db", "not tracing")
        self.assert_no_rings_left()

    def test_a_pattern_that_means_nothing(self):
        self.one_warning(self.same("return", GPUSHIM_OUT=f"{self.folder}/%z.db"), "%z")

    def test_a_value_that_means_nothing(self):
        done = self.same("return", GPUSHIM_MAX_MB="plenty")
        self.one_warning(done, "GPUSHIM_MAX_MB=plenty", "default")
        self.assertEqual(self.copies(), COPIES)
        self.assertEqual(self.same("return", GPUSHIM_MAX_MB="plenty", GPUSHIM_LOG="error").stderr, "")

    def test_fields_of_the_name(self):
        pattern = f"{self.folder}/%h-%r-%l-%j-%q{{WHO}}-%%.db"
        self.same("return", GPUSHIM_OUT=pattern, RANK=7, LOCAL_RANK=3, SLURM_JOB_ID=42, WHO="../me")
        expected = f"{os.uname().nodename}-7-3-42-.._me-%.db"
        self.assertEqual([path.name for path in self.folder.iterdir()], [expected])

    def test_the_file_is_the_users_alone(self):
        before = os.umask(0)
        try:
            self.same("return")
        finally:
            os.umask(before)
        self.assertEqual(self.the_trace().stat().st_mode & 0o777, 0o600)

    def test_taken_names(self):
        """Never overwritten; a link is a taken name, wherever it leads."""
        out = self.folder / "trace.taken.db"
        victim = self.folder / "victim"
        out.write_text("precious")
        victim.write_text("precious")
        (self.folder / "trace.taken.2.db").symlink_to(victim)
        (self.folder / "trace.taken.3.db").symlink_to("nothing")
        self.same("return", GPUSHIM_OUT=out)
        self.assertEqual(self.copies(self.folder / "trace.taken.4.db"), COPIES)
        self.assertEqual([out.read_text(), victim.read_text()], ["precious"] * 2)
        self.assertFalse((self.folder / "nothing").exists())
        for number in range(5, 100):
            (self.folder / f"trace.taken.{number}.db").touch()
        self.one_warning(self.same("return", GPUSHIM_OUT=out), "not tracing")
        self.assertFalse((self.folder / "trace.taken.100.db").exists())


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root to mount a file system")
class Tmpfs(LifecycleCase):
    def test_full(self):
        """D1: no room for a ring costs events, which are counted, and nothing else."""
        folder = f"/dev/shm/gpushim-{os.geteuid()}"
        self.traced_on(f"mount -t tmpfs none /dev/shm && mkdir -m 700 {folder} && "
                       f"mount -t tmpfs -o size=40k,mode=700 none {folder}")
        terms = preload.ledger(self.the_trace())
        self.assertEqual((terms["recorded"], terms["unknown"]), (0, 0), terms)
        self.assertGreaterEqual(terms["dropped"], COPIES, terms)

    def traced_on(self, mount):
        command = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$0" return', self.host()]
        done = box.run(command, {**preload.variables(self.folder), **preload.QUICK}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "copied\n", ""))

    def mounted(self, mount):
        self.traced_on(mount)
        self.assert_nothing_lost(self.the_trace())
        self.assertEqual(self.copies(), COPIES)
        return preload.query(self.the_trace(), "SELECT value FROM meta WHERE key = 'rings_survive'")[0][0]

    def test_small(self):
        self.assertEqual(self.mounted("mount -t tmpfs -o size=64m none /dev/shm"), 0)

    def test_large_enough(self):
        self.assertEqual(self.mounted("mount -t tmpfs -o size=300m none /dev/shm"), 1)

    def test_a_folder_that_is_not_ours_alone(self):
        """S1: others could put links into it."""
        folder = f"/dev/shm/gpushim-{os.geteuid()}"
        self.assertEqual(self.mounted(f"mount -t tmpfs none /dev/shm && mkdir -m 777 {folder}"), 0)

    def test_none(self):
        self.assertEqual(self.mounted(f"mount --bind {self.folder} /dev/shm"), 0)


class StuckDisk(LifecycleCase):
    # What sync and write calls of the trace run into once a file says so.
    SLEEPY = """
    #include <dlfcn.h>
    #include <unistd.h>
    ssize_t pwrite64(int file, const void* from, size_t size, off_t at) {
        if (access("stuck", F_OK) == 0) sleep(3600);
        typedef ssize_t (*Write)(int, const void*, size_t, off_t);
        return ((Write)dlsym(RTLD_NEXT, "pwrite64"))(file, from, size, at);
    }
    """

    def test_the_exit_does_not_wait_for_it(self):
        """X6: after a quarter of a second without progress the rest stays in the rings."""
        sleepy = self.folder / "sleepy.so"
        preload.compiled(self.SLEEPY, sleepy, "-shared", "-fPIC")
        before = time.monotonic()
        env = {"LD_PRELOAD": f"{preload.SHIM}:{sleepy}", "GPUSHIM_OUT": f"{self.folder}/trace.%p.db"}
        with subprocess.Popen([self.host(), "silent", "500"], env=box.environment({**preload.QUICK, **env}),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.folder) as program:
            program.stdout.readline()
            (self.folder / "stuck").touch()
            self.assertEqual(program.wait(60), 0)
        self.assertLess(time.monotonic() - before, 30)
        (self.folder / "stuck").unlink()
        self.recover()
        self.assertEqual(self.copies(), 2 * COPIES)


if __name__ == "__main__":
    unittest.main()
