"""Why scripts/fleet/read could not work, in one line; without Spark."""
import contextlib
import io
import sys
import unittest

import box

sys.path.insert(0, str(box.ROOT / "scripts"))
from fleet import failures  # pylint: disable=wrong-import-position

ABORTED = """An error occurred while calling o2967.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure:
Aborting TaskSet 414.0 because task 1 (partition 1)
cannot run anywhere due to node and executor excludeOnFailure.
Most recent failure:
Lost task 1.0 in stage 414.0 (TID 719) (127.0.0.1 executor 2): java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)

ExcludeOnFailure behavior can be configured via spark.excludeOnFailure.*.

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2856)
Caused by: java.io.IOException: No space left on device
\t... 1 more
"""
WRITTEN = """An error occurred while calling o1.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/out.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(Errors.scala:1)
Caused by: org.apache.spark.SparkException: something between
Caused by: java.io.IOException: No space left on device
"""


class Failures(unittest.TestCase):
    def test_places_in_programs_are_left_out(self):
        said = failures.words_of(RuntimeError(ABORTED))
        self.assertEqual(said, "org.apache.spark.SparkException: Job aborted due to stage failure: Aborting"
                               " TaskSet 414.0 because task 1 (partition 1) cannot run anywhere due to node"
                               " and executor excludeOnFailure. Most recent failure: Lost task 1.0 in stage"
                               " 414.0 (TID 719) (127.0.0.1 executor 2): java.io.IOException: No space left"
                               " on device")

    def test_the_first_cause_is_told_where_what_came_of_it_does_not_say_it(self):
        said = failures.words_of(RuntimeError(WRITTEN))
        self.assertTrue(said.endswith("to file:/out.; java.io.IOException: No space left on device"), said)
        self.assertNotIn("something between", said)

    def test_a_failure_is_one_line_and_ends_with_3(self):
        for failure in (OSError(28, "No space left on device", "/out/x"), RuntimeError(ABORTED)):
            with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
                with failures.told("nothing changed", RuntimeError):
                    raise failure
            self.assertEqual(ended.exception.code, 3)
            self.assertRegex(said.getvalue(),
                             r"\Afleet: not read, nothing changed: .*No space left on device")
            self.assertEqual(said.getvalue().count("\n"), 1)

    def test_what_a_task_said_is_told_where_spark_has_forgotten_it(self):
        forgotten = RuntimeError("cannot run anywhere due to node and executor excludeOnFailure.\n"
                                 "Most recent failure: null")
        known = RuntimeError("Lost task 0.3: java.io.IOException: No space left on device")
        for failure in (forgotten, known):
            failure.task_said = "java.io.IOException: No space left on device\n\tat java.io.Out(Out.java)"
            with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
                with failures.told("nothing changed", RuntimeError):
                    raise failure
            self.assertEqual(said.getvalue().count("No space left on device"), 1)
            self.assertNotIn("Out.java", said.getvalue())

    def test_an_error_of_the_program_is_not_hidden(self):
        with self.assertRaises(KeyError):
            with failures.told("nothing changed", RuntimeError):
                raise KeyError("a mistake")


if __name__ == "__main__":
    unittest.main()
