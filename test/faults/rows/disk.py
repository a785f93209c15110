"""Disk and files."""
from row import C, Row

D1 = Row("D1", "no space, errors and short writes at the n-th call")
D1.proven_by([C], "test_disk.Disk.test_full_after_a_while", "test_lifecycle.Tmpfs.test_full")
D2 = Row("D2", "sparse pages, truncated files: SIGBUS")
D2.proven_by([C], "test_lifecycle.Tmpfs.test_full")
D3 = Row("D3", "a folder that is read-only, absent or unwritable")
D3.proven_by([C], "test_disk.Disk.test_read_only", "test_lifecycle.Output.test_a_folder_that_is_not_there")
D4 = Row("D4", "network file systems")
D5 = Row("D5", "the output exists, process ids come again")
D5.proven_by([C], "test_lifecycle.Output.test_taken_names")
D6 = Row("D6", "eight ranks at once")
D7 = Row("D7", "power loss")
D8 = Row("D8", "the program closes our descriptors")
D8.proven_by([C], "test_lifecycle.Descriptors.test_a_program_that_closes_everything",
             "test_lifecycle.SharedDescriptors.test_not_a_byte_in_the_programs_files")
D9 = Row("D9", "a small /dev/shm")
D9.proven_by([C], "test_lifecycle.Tmpfs.test_small", "test_lifecycle.Tmpfs.test_none")
