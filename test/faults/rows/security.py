"""Security."""
from row import C, Row

S1 = Row("S1", "planted links and names in shared folders")
S1.proven_by([C], "test_lifecycle.Output.test_taken_names",
             "test_lifecycle.Tmpfs.test_a_folder_that_is_not_ours_alone")
S2 = Row("S2", "traces that others can read")
S2.proven_by([C], "test_lifecycle.Output.test_the_file_is_the_users_alone")
S3 = Row("S3", "setuid, capabilities, AT_SECURE")
S4 = Row("S4", "new attack surface: network, signals, W^X, linking")
S4.proven_by([C], "check: shim_library")
S5 = Row("S5", "reports that leak names")
