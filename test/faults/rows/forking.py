"""Fork, exec, threads."""
from row import C, FORK, SPAWN, Row

F1 = Row("F1", "fork without exec: children are dark")
F1.proven_by([C], "test_lifecycle.Children.test_fork",
             "test_lifecycle.Children.test_a_child_that_exits_leaves_the_parents_trace_alone",
             "test_lifecycle.Children.test_a_child_with_a_context_has_a_trace_of_its_own")


@F1.tried_on(C)
def children_under_load(scene):
    _, ledger = scene.same("children", scene.pick(200, 10_000), traces=1, timeout=3600)
    scene.assertEqual(ledger.dropped, 0)


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


F2 = Row("F2", "fork while a lock of ours is held")
F2.proven_by([C], "test_lifecycle.Children.test_fork")
F3 = Row("F3", "order of fork handlers")
F4 = Row("F4", "_Fork, clone, vfork, posix_spawn")
F4.proven_by([C], "test_lifecycle.Children.test_bare_fork", "test_lifecycle.Children.test_raw_clone",
             "test_lifecycle.Children.test_vfork")
F5 = Row("F5", "fork server, spawn, daemons")
F6 = Row("F6", "exec")
F6.proven_by([C], "test_lifecycle.Deaths.test_exec")
F7 = Row("F7", "tens of thousands of short threads")
F7.proven_by([C], "test_lifecycle.Threads.test_50000_short_ones")
F8 = Row("F8", "key destructors, threads that outlive main")
F8.proven_by([C], "test_lifecycle.Ends.test_main_ends_before_a_thread")
F9 = Row("F9", "cancel, longjmp and exceptions through our frames")
F9.proven_by([C], "test_hosts.CallsThatDoNotReturn.test_exception_longjmp_and_cancel")
F10 = Row("F10", "a signal handler calls what it interrupts")
F10.proven_by([C], "test_lifecycle.Results.test_signal_handlers_and_mask_are_the_programs_own",
              "test_attacks.Attacks.test_a_handler_on_a_stack_of_its_own")
F11 = Row("F11", "tiny stacks, alternate stacks")
F11.proven_by([C], "test_lifecycle.Threads.test_a_small_stack_is_enough",
              "test_attacks.Attacks.test_a_handler_on_a_stack_of_its_own")
F12 = Row("F12", "errno, floating point state, signal mask, last error")
F12.proven_by([C], "test_lifecycle.Results.test_errno_is_kept",
              "test_never_disturb.NeverDisturb.test_the_runtime_keeps_its_last_error")
