"""How a program ends."""
from row import C, Row

X1 = Row("X1", "return, exit, exit in a thread, pthread_exit in main")
X1.proven_by([C], *(f"test_lifecycle.Ends.test_{way}" for way in (
    "return", "exit", "exit_in_a_thread", "main_ends_before_a_thread")))
X2 = Row("X2", "_exit, quick_exit, abort, signals")
X2.proven_by([C], *(f"test_lifecycle.Deaths.test_{way}" for way in (
    "underscore_exit", "quick_exit", "abort", "signals")))
X3 = Row("X3", "the program's signal handlers")
X3.proven_by([C], "test_lifecycle.Results.test_signal_handlers_and_mask_are_the_programs_own")
X4 = Row("X4", "calls after our end")
X4.proven_by([C], "test_lifecycle.Ends.test_calls_after_the_end_pass")
X5 = Row("X5", "the driver is torn down first")
X5.proven_by([C], "test_lifecycle.Ends.test_calls_after_the_end_pass")
X6 = Row("X6", "a disk that hangs at the end")
X6.proven_by([C], "test_lifecycle.StuckDisk.test_the_exit_does_not_wait_for_it")
X7 = Row("X7", "dlclose of our library")
X8 = Row("X8", "out of memory: the kernel's killer")
X8.proven_by([C], "test_recovery.Kills.test_at_random_instants_1")
