"""One file becomes a rank summary: by `gpushim analyze --rank-summary`, where it is not one already. Runs in
executors; never throws for what a file or a machine is like, but says it in the answer's `state`:

    reduced                                     its summary is there
    missing, empty, cut, newer, older, damaged, no figure is of this file, and `why` says why
    not_ours, not_readable, no_binary, other_version, not_written,
    and of a file behind a URI still_written, too_large
"""
import contextlib
import functools
import hashlib
import math
import os
import pathlib
import socket
import sqlite3
import subprocess
from typing import NamedTuple

from fleet import files

LIMIT_S = 3600
TRACES_OF_A_TASK, FILES_OF_A_TASK, BYTES_OF_A_TASK = 4, 256, 4 << 20
UNFINISHED = ".unfinished"  # how files are called that an executor may leave
RANK_FACTS = """
SELECT r.rank_id, r.rank, r.world_size, r.host, r.uuid, r.started_real_ns, r.last_ns - r.first_ns,
  (SELECT value FROM run WHERE key = 'run_key'), r.executable, r.produced, r.dropped + r.unknown,
  (SELECT group_concat(uuid, ' ') FROM (SELECT uuid FROM gpu g WHERE g.rank_id = r.rank_id
     AND g.unused IS NULL ORDER BY uuid)),
  (SELECT min(name) FROM gpu g WHERE g.rank_id = r.rank_id), (SELECT value FROM run WHERE key = 'tag'),
  (SELECT CAST(value AS REAL) FROM run WHERE key = 'price_per_gpu_hour')
FROM rank r ORDER BY r.rank_id"""
FACT_NAMES = ("rank_id", "rank", "world_size", "host", "uuid", "started_ns", "lasted_ns", "run_key",
              "executable", "produced", "lost", "gpus", "gpu_name", "tag", "price")


# What gpushim said of the traces when it made a summary: (key of the table run, state of coverage, words).
DOUBTS = (("refused", "refused", "traces could not be read when it was made"),
          ("partly_read", "partly_read", "traces could be read in part only: what may be missing looks idle"),
          ("not_ended", "not_ended", "traces have no end: a program was killed, or still ran"))


class Tools(NamedTuple):
    """What every task is told: the program, the version it must have, where summaries go."""

    program: str
    version: str
    folder: str


def groups(some, least):
    """The files of each task: four traces, or more small files, because to begin a task takes longer than
    to read one. Large ones are dealt out first, so no task has many."""
    shares = sum(min(1 / TRACES_OF_A_TASK, max(1 / FILES_OF_A_TASK, (file.bytes or 0) / BYTES_OF_A_TASK))
                 for file in some)
    count = min(len(some), max(least, math.ceil(shares)))
    by_size = sorted(some, key=lambda file: (-(file.bytes or 0), file.path))
    return [by_size[nth::count] for nth in range(count)]


def reason(error):
    """Of an OSError, what the system said, with the file if it is about one."""
    said = error.strerror or str(error)
    return said if error.filename is None else f"{error.filename}: {said}"


@functools.lru_cache(maxsize=None)
def asked_version(program):
    """(what it says of itself, None), or (None, why it cannot be run here)"""
    try:
        done = subprocess.run([program, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False, timeout=60)
    except OSError as error:
        return None, reason(error)
    except subprocess.TimeoutExpired:
        return None, "it did not tell its version within a minute"
    if done.returncode != 0:
        return None, f"asked for its version it ended with {done.returncode}"
    return done.stdout.strip(), None


def version_of(program):
    """None: it cannot be run here."""
    return asked_version(program)[0]


def no_binary(program, why):
    return "no_binary", f"{socket.gethostname()} cannot run {program}: {why}", None


def place_of(file, folder):
    """The same file has the same place; another state of it, and summaries of another schema, another one."""
    told = f"{file.path}\0{file.bytes}\0{file.mtime_ns}\0{files.SUMMARY_SCHEMA}"
    digest = hashlib.blake2b(told.encode(errors="surrogateescape"), digest_size=12)
    return pathlib.Path(folder, digest.hexdigest() + ".summary")


def state_of(said):
    if "newer gpushim" in said:
        return "newer"
    if "not a trace of gpushim" in said:
        return "not_ours"
    writes = ("No space left", "disk is full", "disk I/O", "Read-only", "Permission denied",
              "cannot be written", "unable to open")
    return "not_written" if any(word in said for word in writes) else "damaged"


def name_file(summary, path):
    """What it was made of, which is no longer where it was."""
    with contextlib.closing(sqlite3.connect(summary)) as base:
        base.execute("UPDATE raw_file SET path = ?", (path,))
        base.commit()


def summarised(file, tools, at):
    """(state, why, place) of the trace whose bytes are there."""
    version, why = asked_version(tools.program)
    if version is None:
        return no_binary(tools.program, why)
    if version != tools.version:
        return "other_version", f"{socket.gethostname()} has {version}, not {tools.version}", None
    place = place_of(file, tools.folder)
    if place.exists():
        return "reduced", None, str(place)
    if not place.parent.is_dir():
        return "not_written", (f"{socket.gethostname()} has no {tools.folder}, which all executors have to"
                               " share"), None
    is_fetched = str(at) != file.path
    made = place.with_suffix(f".{os.getpid()}.made{UNFINISHED}") if is_fetched else place
    try:
        done = subprocess.run([tools.program, "analyze", "--rank-summary", "-o", str(made), str(at)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, errors="replace", check=False, timeout=LIMIT_S,
                              env={**os.environ, "GPUSHIM_RECOVER": "own", "NO_COLOR": "1"})
    except OSError as error:
        return no_binary(tools.program, reason(error))
    said = " ".join(done.stderr.replace(str(at), file.path).split())[:500]
    if is_fetched and made.exists():
        name_file(made, file.path)
        made.rename(place)
    if place.exists():
        return "reduced", said or None, str(place)
    return state_of(said), said or f"gpushim ended with {done.returncode}", None


def facts_of(place):
    """What is known of the ranks in a summary, for the manifest's row. Of a file that lacks a page some rows
    can be read, so all of it is looked at."""
    base = files.opened(place)
    try:
        found, = base.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        said = dict(base.execute("SELECT key, value FROM run"))
        names = base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1").fetchall()
        return {
            "ranks": [dict(zip(FACT_NAMES, found)) for found in base.execute(RANK_FACTS)],
            "contradictions": [f"{who}: {text}"
                               for who, text in base.execute("SELECT who, text FROM v_contradiction")],
            "doubts": [(state, f"{said[key]} {words}") for key, state, words in DOUBTS if said.get(key)],
            "made_by": said.get("analysed_by"),
            "tables": [name for name, in names if base.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]}
    finally:
        base.close()


def kind_of(place):
    try:
        return files.kind_of_file(place)
    except FileNotFoundError:
        return files.Kind("missing", "in the list, and not there")
    except OSError as error:  # of the machine or the file system, so it may go another time
        return files.Kind("not_readable", f"{socket.gethostname()}: {reason(error)}")


NO_FACTS = {"ranks": [], "contradictions": [], "doubts": [], "made_by": None, "tables": []}


def row(file, state, why, summary=None, facts=None):
    """Of the manifest."""
    return {"path": file.path, "bytes": file.bytes, "mtime_ns": file.mtime_ns, "state": state, "why": why,
            "summary": summary, "by": socket.gethostname(), **(facts or NO_FACTS)}


def unlisted(error):
    """Of a folder that cannot be listed: which files it has is not known."""
    return row(files.File(error.filename, None, None), "not_readable",
               f"{socket.gethostname()}: {error.strerror}: files in it are not in any figure")


def fetched(file, content, tools):
    """The same of a file that is not here but for its bytes. A summary is kept among those made here."""
    here = place_of(file, tools.folder).with_suffix(f".{os.getpid()}{UNFINISHED}")
    try:
        here.write_bytes(content)
        if files.is_summary(here):
            here = here.rename(place_of(file, tools.folder))
        return reduced(file, tools, here)
    except OSError as error:
        return row(file, "not_written", f"{socket.gethostname()}: {reason(error)}")
    finally:
        if here.suffix == UNFINISHED:
            here.unlink(missing_ok=True)


def reduced(file, tools, at=None):
    """A row for the manifest. `at`: where the file's bytes are, if not where the file is."""
    at = at or file.path
    kind, place = kind_of(at), None
    state, why = kind
    if kind.name == "summary":
        state, why, place = "reduced", None, str(at)
    elif kind.name == "trace":
        try:
            state, why, place = summarised(file, tools, at)
        except subprocess.TimeoutExpired:
            state, why = "damaged", f"took longer than {LIMIT_S} s"
        except OSError as error:
            state, why = "not_written", f"{socket.gethostname()}: {reason(error)}"
        except sqlite3.Error as error:  # of the summary that was just made
            state, why = "not_written", f"{socket.gethostname()}: {place_of(file, tools.folder)}: {error}"
    facts = None
    if place is not None:
        try:
            facts = facts_of(place)
        except sqlite3.Error as error:
            state, why, place = "damaged", f"{place}: {error}", None
    return row(file, state, why, place, facts)
