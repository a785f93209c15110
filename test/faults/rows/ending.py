"""How a program ends."""
import os
import pathlib
import resource

import box
import preload
from row import C, FORK, SPAWN, NotTried, Row
from test_lifecycle import StuckDisk

COPIES = 100  # of the hosts' ways of ending


def ends(scene, *ways):
    """The Python host and its worker in each of these ways; a spawned worker has copied, too."""
    for way in ways:
        with scene.subTest(end=way):
            _, ledger = scene.same("end", way)
            scene.assertEqual(ledger.dropped, 0)
            scene.assertEqual(scene.copies(), COPIES + (10 if scene.host == SPAWN else 0))
            for file in scene.out.iterdir():
                file.unlink()


X1 = Row("X1", "return, exit, exit in a thread, pthread_exit in main")
X1.proven_by([C], *(f"test_lifecycle.Ends.test_{way}" for way in (
    "return", "exit", "exit_in_a_thread", "main_ends_before_a_thread")))


@X1.tried_on(FORK, SPAWN)
def ends_of_the_interpreter(scene):
    ends(scene, "return", "exit", "error")


X2 = Row("X2", "_exit, quick_exit, abort, signals")
X2.proven_by([C], *(f"test_lifecycle.Deaths.test_{way}" for way in (
    "underscore_exit", "quick_exit", "abort", "signals")))


@X2.tried_on(FORK, SPAWN)
def deaths(scene):
    ends(scene, "_exit", "abort", "exit_in_thread", "SIGTERM", "SIGKILL", "SIGSEGV")


X3 = Row("X3", "the program's signal handlers")
X3.proven_by([C], "test_lifecycle.Results.test_signal_handlers_and_mask_are_the_programs_own",
             "test_complaints.Complaints.test_the_reader_is_gone")


@X3.tried_on(C)
def signals_by_sigwait(scene):
    """They go to the thread that waits for them: threads of ours take none. 1.5 s: until the last of ours is
    there, which looks for NVML."""
    _, ledger = scene.same("sigwait", 1500, traces=1)
    scene.assertEqual((ledger.dropped, scene.copies()), (0, 1000))


@X3.tried_on(FORK, SPAWN)
def interrupts_and_fault_handlers(scene):
    scene.same("interrupted")
    scene.assertEqual(scene.copies(), 200 + (3 if scene.host == SPAWN else 0))


X4 = Row("X4", "calls after our end")
X4.proven_by([C], "test_lifecycle.Ends.test_calls_after_the_end_pass")


@X4.tried_on(C)
def destructors_of_the_program(scene):
    scene.same("destructors", traces=1)
    scene.assertEqual(scene.copies(), COPIES)


@X4.tried_on(FORK, SPAWN)
def what_the_interpreter_runs_last(scene):
    scene.same("late", traces=1)
    scene.assertEqual(scene.copies(), COPIES)


X5 = Row("X5", "the driver is torn down first")
X5.proven_by([C], "test_lifecycle.Ends.test_calls_after_the_end_pass")


@X5.tried_on(FORK, SPAWN)
def teardown_first_and_last(scene):
    for when in ("first", "last"):
        scene.same("late", GPUSIM_EXIT=when)
    scene.assertEqual(scene.copies(), 2 * COPIES)


X6 = Row("X6", "a disk that hangs at the end")
X6.proven_by([C], "test_lifecycle.StuckDisk.test_the_exit_does_not_wait_for_it")


@X6.tried_on(C)
def a_disk_that_hangs_meanwhile(scene):
    """The program goes on: the rings take what they hold, and what they do not is counted."""
    source, sleepy = StuckDisk.SLEEPY + preload.SMALL_TMPFS, scene.folder / "sleepy.so"
    preload.compiled(source, sleepy, "-shared", "-fPIC")
    scene.out.mkdir()
    knobs = {**preload.variables(scene.out), **preload.QUICK, "LD_PRELOAD": f"{preload.SHIM}:{sleepy}"}
    copies = preload.MORE_THAN_RINGS_HOLD
    done = box.run(scene.command("hangs", copies), knobs, cwd=scene.folder)
    scene.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{copies} copies\n", ""))
    (scene.folder / "stuck").unlink()
    ledger = scene.ledger()
    scene.assertGreater(ledger.dropped, 0)
    scene.assertEqual(scene.copies() + ledger.dropped, 5000 + copies)


X7 = Row("X7", "dlclose of our library")


@X7.tried_on(C)
def closed_while_it_records(scene):
    """Opened by hand as a library like any other: what is closed stays, for threads of ours are in it."""
    scene.out.mkdir()
    knobs = {"GPUSHIM_OUT": f"{scene.out}/trace.%p.db"}
    seen = scene.seen([scene.small("opener.c"), "closes", preload.SHIM], knobs)
    scene.assertEqual((seen.status, seen.stdout, seen.stderr), (0, "closes: 0\n", ""))
    scene.ledger()
    scene.assertEqual((len(scene.traces()), scene.copies()), (1, COPIES))


X7.proven_by([C], "check: shim_library")

X8 = Row("X8", "out of memory: the kernel's killer")
MEMORY_LIMITS = {  # of version 2 and 1 of control groups: where they are, and what limits there
    "/sys/fs/cgroup": "memory.max",
    "/sys/fs/cgroup/memory": "memory.limit_in_bytes",
}
LIMIT_BYTES = 256 << 20


def group_with_a_limit():
    for root, limit in MEMORY_LIMITS.items():
        group = pathlib.Path(root) / f"gpushim-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        # What is no control group has no such file when it is made.
        if (group / limit).exists() and (group / "cgroup.procs").exists():
            (group / limit).write_text(str(LIMIT_BYTES))
            return group
        group.rmdir()
    raise NotTried("cgroup")


@X8.tried_on(C)
def killed_for_its_memory(scene):
    group = group_with_a_limit()
    scene.out.mkdir()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    enter = f'echo $$ >"{group}/cgroup.procs" && exec "$@"'
    most_mb = str(4 * LIMIT_BYTES >> 20)  # for the machine's sake, where the limit does not hold
    try:
        done = box.run(["sh", "-c", enter, "sh", *scene.command("eats_memory", most_mb)],
                       {**preload.variables(scene.out), **preload.QUICK})
    finally:
        group.rmdir()
    scene.assertEqual((done.returncode, done.stdout, done.stderr), (-9, "copied\n", ""))
    ledger = scene.ledger()
    scene.assertEqual((ledger.dropped, ledger.unfinished, scene.copies()), (0, 0, COPIES))
