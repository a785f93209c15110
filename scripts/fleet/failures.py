"""What ends a reading although no file is to blame: a disk that is full, a Spark that cannot work. It is told
in a line, and not by the frames of two languages. Nothing here knows Spark."""
import contextlib
import itertools
import sqlite3
import sys

MOST = 500  # characters
CAUSE = "Caused by: "


def words_of(error):
    """What Spark, Java or the system says, and the first cause of it, without places in programs."""
    left_out = (" ", "\t", "An error occurred while calling", "ExcludeOnFailure behavior")
    lines = [line.strip().lstrip(": ") for line in str(error).splitlines()
             if line.strip() and not line.startswith(left_out)]
    first = list(itertools.takewhile(lambda line: not line.startswith((CAUSE, "Driver stacktrace")), lines))
    said, cause = " ".join(first)[:MOST], [line[len(CAUSE):] for line in lines if line.startswith(CAUSE)][-1:]
    return "; ".join([said] + [text[:MOST] for text in cause if text not in said]) or type(error).__name__


@contextlib.contextmanager
def told(outcome, *kinds):
    """Ends the program with 3. kinds: exceptions of whatever else may fail."""
    try:
        yield
    except (OSError, sqlite3.Error, *kinds) as error:
        said, task = words_of(error), getattr(error, "task_said", None)
        more = "" if task is None or words_of(task) in said else f"; a task: {words_of(task)}"
        print(f"fleet: not read, {outcome}: {said}{more}", file=sys.stderr)
        raise SystemExit(3) from None
