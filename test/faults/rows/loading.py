"""Loading and namespaces."""
from row import C, FORK, SPAWN, Row

L1 = Row("L1", "programs without CUDA inherit the preload")
L1.proven_by([C], "test_unrelated.Unrelated.test_they_do_not_notice",
             "test_unrelated.Unrelated.test_the_preload_was_there",
             "test_unrelated.Unrelated.test_it_loads_where_the_environment_is_empty")
L1.proven_by([FORK, SPAWN], "test_unrelated.Unrelated.test_they_do_not_notice")

L2 = Row("L2", "a missing library or symbol; replaced in place")
L2.proven_by([C], "check: shim_library",
             "test_checks_shim.Library.test_libraries_and_how_it_is_linked")

L3 = Row("L3", "an old C++ library first on the path")
L3.proven_by([C], "check: shim_library")

L4 = Row("L4", "our symbols collide with others'")
L4.proven_by([C], "check: shim_library", "test_checks_shim.Library.test_exports")

L5 = Row("L5", "a 32-bit child")
L6 = Row("L6", "a static program, a setuid one")
L6.proven_by([C], "test_doctor.Doctor.test_what_would_not_be_seen")

L7 = Row("L7", "RTLD_DEEPBIND, dlmopen, dlclose and dlopen again")
L7.proven_by([C], "test_doors.WaysIn.test_opened_by_a_library_that_nobody_else_sees",
             "test_doors.WaysIn.test_linked_to_a_library_that_nobody_else_sees")

L8 = Row("L8", "the driver calls itself through hooked names")
L8.proven_by([C], "test_doors.WaysIn.test_the_driver_calls_itself_through_exported_names")

L9 = Row("L9", "look-ups of names and versions that nobody knows")
L9.proven_by([C], "test_doors.Newer.test_what_the_driver_gives_is_known_by_its_address",
             "test_unknown_abi.UnknownAbi.test_they_are_counted_and_told")

L10 = Row("L10", "a program under AddressSanitizer")
L10.proven_by([C], "test_hosts.Sanitizers.test_address")

L11 = Row("L11", "ThreadSanitizer, valgrind, jemalloc, faketime")
L11.proven_by([C], "test_hosts.Sanitizers.test_thread",
              "test_hosts.Allocators.test_jemalloc_before_and_behind")

L12 = Row("L12", "a huge or hostile environment")
L12.proven_by([C], "test_lifecycle.Output.test_a_value_that_means_nothing",
              "test_lifecycle.Output.test_a_pattern_that_means_nothing")

L13 = Row("L13", "the library is loaded twice")
L13.proven_by([C], "test_interposers.Interposers.test_two_copies_of_the_shim_record_once")
