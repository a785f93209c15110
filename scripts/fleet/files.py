"""Which files a fleet is made of, and what each is by its first hundred bytes. Nothing here knows Spark, and
nothing reads more of a file than its head."""
import os
import pathlib
import re
import sqlite3
import stat
import urllib.parse
from typing import NamedTuple, Optional

MAGIC = b"SQLite format 3\0"
SUMMARY, RUN, HISTORY = 0x67707373, 0x67707372, 0x67707368  # PRAGMA application_id
SUMMARY_SCHEMA = 2
HEAD = 100


class File(NamedTuple):
    """One file of the list; bytes and mtime_ns are None where it is not there."""

    path: str
    bytes: Optional[int]
    mtime_ns: Optional[int]


class Kind(NamedTuple):
    """trace, summary; else why it is neither: cut, newer, older, empty, not_ours."""

    name: str
    why: Optional[str] = None


def number(head, at, length):
    return int.from_bytes(head[at:at + length], "big")


def kind_of(head, size):
    """What a file with this head and this size is. A file that was cut is shorter than its own head says."""
    if size == 0:
        return Kind("empty", "the file is empty")
    if not head.startswith(MAGIC) or len(head) < HEAD:
        cut = MAGIC.startswith(head[:len(MAGIC)])
        return Kind("cut", f"ends after {size} bytes") if cut else Kind("not_ours", "no SQLite file")
    application = number(head, 68, 4)
    if application in (RUN, HISTORY):
        return Kind("not_ours", "a run or a history, which was made of traces")
    page = number(head, 16, 2)
    whole = (65536 if page == 1 else page) * number(head, 28, 4)
    if number(head, 24, 4) == number(head, 92, 4) and size < whole:
        return Kind("cut", f"has {size} of {whole} bytes")
    if application != SUMMARY:
        return Kind("trace")
    schema = number(head, 60, 4)
    if schema == SUMMARY_SCHEMA:
        return Kind("summary")
    return Kind("newer" if schema > SUMMARY_SCHEMA else "older",
                f"summary of schema {schema}; this program reads schema {SUMMARY_SCHEMA}")


def kind_of_file(path):
    if not stat.S_ISREG(os.stat(path).st_mode):
        return Kind("not_ours", "no regular file")
    with open(path, "rb") as file:
        return kind_of(file.read(HEAD), os.fstat(file.fileno()).st_size)


def opened(place):
    """A database to be read, that nobody writes. What its names have that is no UTF-8 is shown as U+FFFD."""
    base = sqlite3.connect(f"file:{urllib.parse.quote(os.fsencode(place))}?mode=ro&immutable=1", uri=True)
    base.text_factory = lambda text: text.decode(errors="replace")
    return base


def is_summary(path):
    """One that this program reads."""
    try:
        return kind_of_file(path).name == "summary"
    except OSError:
        return False


def looked_at(path):
    try:
        found = os.stat(path)
    except OSError:
        return File(str(path), None, None)
    # A trace whose log is not in it yet is as new as its log.
    log = pathlib.Path(f"{path}-wal")
    mtime_ns = max(found.st_mtime_ns, log.stat().st_mtime_ns if log.exists() else 0)
    return File(str(path), found.st_size, mtime_ns)


def is_of_fleet(path):
    name = path.rpartition("/")[2]
    return name.endswith((".db", ".summary")) and name != "gpushim.run.db"


def summary_of(path):
    """The place of the summary that stands for this trace."""
    return f"{path[:-len('.db')]}.summary" if path.endswith(".db") else None


def chosen(found, can_be_read):
    """Traces and summaries among these ({path: File}). A summary stands for the trace beside it if it is not
    older and can be read."""
    for path, file in found.items():
        summary = found.get(summary_of(path))
        is_older = summary is not None and (summary.mtime_ns or 0) < (file.mtime_ns or 0)
        if summary is None or is_older or not can_be_read(summary.path):
            yield file


def can_be_listed(path):
    """A folder, and we may."""
    try:
        with os.scandir(path):
            return True
    except OSError:
        return False


def in_folder(folder, on_error):
    """Traces and summaries below it. on_error: what is told of a folder that cannot be listed."""
    for parent, folders, names in os.walk(folder, onerror=on_error):
        folders.sort()
        found = [looked_at(pathlib.Path(parent, name)) for name in sorted(names) if is_of_fleet(name)]
        yield from chosen({file.path: file for file in found}, is_summary)


def words_of(words):
    """With the lines of each @FILE in its place."""
    for word in words:
        if word.startswith("@"):
            lines = pathlib.Path(word[1:]).read_text(encoding="utf-8", errors="surrogateescape").split("\n")
            yield from words_of([line.strip() for line in lines if line.strip()])
        else:
            yield word


def is_uri(word):
    return re.match(r"[a-z][a-z0-9+.-]+:/", word) is not None


def listed(words, on_error=None):
    """All files that these words mean: a file, a folder, or @FILE with a word on each line. A file that is
    named and not there is in the list, too. By path, each once. on_error: as in_folder."""
    found = {}
    for word in words_of(words):
        path = os.path.abspath(word)
        more = in_folder(path, on_error) if os.path.isdir(path) else [looked_at(path)]
        found.update((file.path, file) for file in more)
    return [found[path] for path in sorted(found)]
