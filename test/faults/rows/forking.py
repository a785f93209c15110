"""Fork, exec, threads."""
from row import C, FORK, SPAWN, Row

F1 = Row("F1", "fork without exec: children are dark")
F1.proven_by([C], "test_lifecycle.Children.test_fork",
             "test_lifecycle.Children.test_a_child_that_exits_leaves_the_parents_trace_alone",
             "test_lifecycle.Children.test_a_child_with_a_context_has_a_trace_of_its_own")


def while_a_thread_copies(scene, way, times):
    """Every copy of the parent is there, once, and nothing of its children."""
    count = scene.folder / "copies"
    _, ledger = scene.same(way, times, count, traces=1, timeout=3600)
    scene.assertEqual((ledger.dropped, scene.copies()), (0, int(count.read_text())))


@F1.tried_on(C)
def children_under_load(scene):
    while_a_thread_copies(scene, "children", scene.pick(200, 10_000))


@F1.tried_on(FORK)
def workers_without_the_gpu(scene):
    workers = scene.pick(4, 400)
    scene.same("children", workers, traces=1, timeout=3600)
    scene.assertEqual(scene.copies(), 50 * workers // 2)


@F1.tried_on(SPAWN)
def workers_with_a_gpu_of_their_own(scene):
    workers = scene.pick(4, 200)
    scene.same("children", workers, timeout=3600)
    scene.assertEqual(scene.copies(), 50 * workers // 2 + sum(range(workers)))


F2 = Row("F2", "fork while a lock is held")


@F2.tried_on(C)
def children_that_take_every_lock(scene):
    """Of the allocator, the loader, the environment, of files and exit handlers; a child has 20 s."""
    while_a_thread_copies(scene, "children_that_lock", scene.pick(200, 5000))


F2.proven_by([FORK, SPAWN], *(f"test_faults.Faults.test_F1_{name}" for name in (
    "workers_without_the_gpu_on_python_fork", "workers_with_a_gpu_of_their_own_on_python_spawn")))

F3 = Row("F3", "handlers of the program around a fork")


@F3.tried_on(C)
def handlers_that_call_the_driver(scene):
    _, ledger = scene.same("fork_handlers", scene.pick(20, 1000), traces=1)
    scene.assertEqual(ledger.dropped, 0)
    scene.assertEqual(scene.copies(), 10 * scene.pick(20, 1000))


@F3.tried_on(FORK, SPAWN)
def handlers_of_the_interpreter(scene):
    times = scene.pick(3, 100)
    scene.same("handlers", times)
    scene.assertEqual(scene.copies(), 10 * times + (sum(range(times)) if scene.host == SPAWN else 0))


F4 = Row("F4", "_Fork, clone, vfork, posix_spawn")
F4.proven_by([C], "test_lifecycle.Children.test_bare_fork", "test_lifecycle.Children.test_raw_clone",
             "test_lifecycle.Children.test_vfork")


@F4.tried_on(C)
def posix_spawn(scene):
    while_a_thread_copies(scene, "spawned", scene.pick(50, 2000))


@F4.tried_on(FORK, SPAWN)
def programs_beside_workers(scene):
    times = scene.pick(4, 200)
    scene.same("programs", times)
    scene.assertEqual(scene.copies(), 10 * times + (sum(range(times)) if scene.host == SPAWN else 0))


F5 = Row("F5", "fork server, spawn, daemons")


@F5.tried_on(C)
def a_daemon(scene):
    """Without a descriptor, a terminal or a parent; what it recorded is whole."""
    scene.same("daemon", 100, traces=1)
    scene.assertEqual(scene.copies(), 100)


@F5.tried_on(FORK)
def workers_of_a_fork_server(scene):
    scene.same("server", 4, traces=2)
    scene.assertEqual(scene.copies(), 10 + sum(range(4)))


F5.proven_by([SPAWN], "test_faults.Faults.test_F1_workers_with_a_gpu_of_their_own_on_python_spawn")

F6 = Row("F6", "exec")
F6.proven_by([C], "test_lifecycle.Deaths.test_exec")
MOST_NAMES = 99  # of one pattern


@F6.tried_on(C)
def again_and_again(scene):
    """The same pid each time: each trace has a numbered name."""
    times = scene.pick(10, MOST_NAMES - 1)
    scene.same("execs", times, traces=times + 1)
    scene.assertEqual(scene.copies(), 100 * (times + 1))


@F6.tried_on(FORK, SPAWN)
def workers_that_become_other_programs(scene):
    scene.same("replaced", 1, GPUSHIM_DEVICE_TIME="off")
    # Twice: 10 of the program, 100 of what the worker became; 10 and 3 of workers with a GPU of their own.
    scene.assertEqual(scene.copies(), 2 * (10 + 100 + (13 if scene.host == SPAWN else 0)))


F7 = Row("F7", "tens of thousands of short threads")
F7.proven_by([C], "test_lifecycle.Threads.test_50000_short_ones")


@F7.tried_on(FORK, SPAWN)
def threads_of_the_interpreter(scene):
    threads = scene.pick(100, 5000)
    scene.same("threads", threads)
    scene.assertEqual(scene.copies(), 7 * threads + (sum(range(3)) if scene.host == SPAWN else 0))


F8 = Row("F8", "key destructors, threads that outlive main")
F8.proven_by([C], "test_lifecycle.Ends.test_main_ends_before_a_thread")


@F8.tried_on(C)
def destructors_of_threads(scene):
    threads = scene.pick(50, 5000)
    _, ledger = scene.same("thread_destructors", threads, traces=1)
    scene.assertEqual((ledger.dropped, scene.copies()), (0, (7 + 2 + 3 + 3) * threads))


F9 = Row("F9", "cancel, longjmp and exceptions through our frames")
F9.proven_by([C], "test_hosts.CallsThatDoNotReturn.test_exception_longjmp_and_cancel")
F10 = Row("F10", "a signal handler calls what it interrupts")
F10.proven_by([C], "test_lifecycle.Results.test_signal_handlers_and_mask_are_the_programs_own",
              "test_attacks.Attacks.test_a_handler_on_a_stack_of_its_own")


@F10.tried_on(FORK, SPAWN)
def alarms(scene):
    times = scene.pick(50, 2000)
    scene.same("alarms", times)
    scene.assertEqual(scene.copies(), times + (3 if scene.host == SPAWN else 0))


F11 = Row("F11", "tiny stacks, alternate stacks")
F11.proven_by([C], "test_lifecycle.Threads.test_a_small_stack_is_enough",
              "test_attacks.Attacks.test_a_handler_on_a_stack_of_its_own")
F12 = Row("F12", "errno, floating point, masks, the driver's last error")
F12.proven_by([C], "test_lifecycle.Results.test_errno_is_kept",
              "test_never_disturb.NeverDisturb.test_the_runtime_keeps_its_last_error")


@F12.tried_on(C)
def what_a_thread_has(scene):
    scene.same("state", traces=1)
