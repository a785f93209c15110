"""How a traced program begins, forks and ends: its results are those without the shim, and its trace is
whole."""
import collections
import signal
import subprocess
import time

import box
import preload
from lifecycle_case import COPIES, LifecycleCase

# How many threads have made how many copies.
COPIES_OF_THREADS = """SELECT copies, count(*) FROM (SELECT count(*) AS copies FROM copy
                       LEFT JOIN thread ON thread.id = thread_id GROUP BY thread.id) GROUP BY copies"""


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
        """F7: none is lost, and memory is what a few rings take. On a busy machine a few threads may find no
        ring, and are counted: then it is another run's turn, and what is there is right all the same."""
        for _ in range(4):
            for trace in self.traces():
                trace.unlink()
            self.same("threads", "50000")
            terms = preload.ledger(self.the_trace())
            self.assertEqual([terms[name] for name in ("recovered", "unfinished", "unknown")], [0] * 3, terms)
            self.assertLessEqual(7 * 50000 - self.copies(), terms["dropped"])
            threads = dict(preload.query(self.the_trace(), COPIES_OF_THREADS))
            self.assertLessEqual(max(threads), 7, "calls of one thread were put down to another")
            if terms["dropped"] == 0:
                self.assertEqual(threads, {7: 50000})
                return
        self.fail("some were lost in each of four runs")

    def test_a_small_stack_is_enough(self):
        self.same("tiny_stack")
        self.assertEqual(self.copies(), 7)

    def test_threads_of_ours_are_the_writer_and_those_for_the_driver_and_nvml(self):
        alone = box.run([self.host(), "tasks"], preload.QUICK).stdout.split()
        ours = collections.Counter(("gpushim", "gpushim", "gpushim-nvml"))
        for _ in range(10):  # on a busy machine the program may be over before all of them are there
            done = box.run([self.host(), "tasks"], {**preload.variables(self.folder), **preload.QUICK})
            more = collections.Counter(done.stdout.split()) - collections.Counter(alone)
            self.assertEqual(more - ours, collections.Counter())
            if more == ours:
                break
        self.assertEqual(more, ours)


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
