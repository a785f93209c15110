"""What has been read of a fleet, which run each file belongs to, and what is not whole. Plain data and files:
nothing here knows Spark. The manifest is manifest.jsonl, a line for each file, replaced as a whole; a run
that is being written stands in `pending`, so the next reading writes it again."""
import collections
import contextlib
import datetime
import fcntl
import hashlib
import json
import os
import pathlib
import re
import statistics
import sys
from typing import List, NamedTuple, Optional

from fleet import files

NS = 1_000_000_000
CLOCK_SKEW_S = 600  # hosts start the ranks of a job within minutes of each other
# Cells of the table coverage. ranks: how many ranks a row is about; NULL: not known.
COVERAGE_COLUMNS = ("rank", "ranks", "host", "path", "state", "why")
UNTOLD = "unknown"  # day and run of a file that tells neither


class Row(NamedTuple):
    """A row of coverage."""

    day: str
    run: str
    rank: Optional[int]
    ranks: Optional[int]
    host: Optional[str]
    path: Optional[str]
    state: str
    why: Optional[str]


class Run(NamedTuple):
    """Files that are one run."""

    name: str
    day: str
    entries: List[dict]
    coverage: List[Row]
    ranks_seen: int
    ranks_expected: Optional[int]


def load(folder):
    """({path: entry}, {run}: that somebody began to write)"""
    lines = pathlib.Path(folder, "manifest.jsonl")
    pending = pathlib.Path(folder, "pending")
    entries = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] \
        if lines.exists() else []
    return ({entry["path"]: entry for entry in entries},
            set(pending.read_text(encoding="utf-8").splitlines()) if pending.exists() else set())


@contextlib.contextmanager
def locked(folder):
    """Two readings into one folder would write over each other. A file system may have no locks."""
    with open(pathlib.Path(folder, "lock"), "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"fleet: another reading into {folder} is under way", file=sys.stderr)
            raise SystemExit(2) from None
        except OSError:
            pass
        yield


def replace(path, text):
    path = pathlib.Path(path)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.write_text(text, encoding="utf-8")
    os.replace(made, path)


def save(folder, entries):
    replace(pathlib.Path(folder, "manifest.jsonl"),
            "".join(json.dumps(entries[path], sort_keys=True) + "\n" for path in sorted(entries)))
    pathlib.Path(folder, "pending").unlink(missing_ok=True)


def save_pending(folder, runs):
    replace(pathlib.Path(folder, "pending"), "".join(f"{run}\n" for run in sorted(runs)))


def is_read(file, entry):
    """Whether the manifest has that state of the file. What a machine could not do is tried again."""
    return (entry is not None and (entry["bytes"], entry["mtime_ns"]) == (file.bytes, file.mtime_ns)
            and entry["state"] not in ("not_readable", "no_binary", "other_version", "not_written", "gone")
            and (entry["summary"] is None or files.is_summary(entry["summary"])))


def without_removed(entries):
    """Without files that gave no figure and are not there any more: somebody tidied up. What was in a list
    and never there stays. Without folders that could not be listed, and can be."""
    return {path: entry for path, entry in entries.items()
            if entry["summary"] is not None or entry["state"] in ("missing", "gone") or files.is_uri(path)
            or os.path.lexists(path) and not files.can_be_listed(path)}


def is_gone(entry):
    """Whether nothing can be written of it again."""
    return entry["summary"] is not None and not files.is_summary(entry["summary"])


def gone(entry):
    """Of a run that is written again nothing else is known."""
    return {**entry, "state": "gone", "why": f"its run is written again, and {entry['summary']} is not there",
            "summary": None, "ranks": [], "contradictions": [], "doubts": [], "tables": []}


def name_of(key):
    """A name that every file system takes; another key has another name. No name has a `_`, which stands
    before the number of a further run with that key."""
    plain = re.sub(r"[^A-Za-z0-9.-]", "-", key)[:80]
    digest = hashlib.blake2b(key.encode(), digest_size=4).hexdigest()
    return plain if plain == key and key != UNTOLD else f"{plain}-{digest}"


def day_of(started_ns):
    return datetime.datetime.fromtimestamp(started_ns // NS, datetime.timezone.utc).strftime("%Y-%m-%d")


def key_of(entry):
    first = entry["ranks"][0]
    return first["run_key"] or f"{first['host']}-{first['uuid']}"


def without_copies(entries):
    """(entries of which each trace is in one only, rows of the others). Of copies the one counts that has all
    events: others were made while the program ran. Of these the one of most ranks."""
    produced = {}
    for rank in (rank for entry in entries for rank in entry["ranks"]):
        produced[rank["uuid"]] = max(rank["produced"] or 0, produced.get(rank["uuid"], 0))

    def place(entry):
        is_early = any((rank["produced"] or 0) < produced[rank["uuid"]] for rank in entry["ranks"])
        return is_early, -len(entry["ranks"]), entry["path"]

    kept, copies, seen = [], [], {}
    for entry in sorted(entries, key=place):
        uuids = [rank["uuid"] for rank in entry["ranks"] if rank["uuid"] is not None]
        twice = next((uuid for uuid in uuids if uuid in seen), None)
        if twice is None:
            kept.append(entry)
            seen.update((uuid, entry["path"]) for uuid in uuids)
        else:
            copies.append((entry, seen[twice]))
    return sorted(kept, key=lambda entry: entry["path"]), [of_copy(*copy, seen) for copy in copies]


def of_copy(entry, other, seen):
    left = [str(rank["rank"]) for rank in entry["ranks"] if rank["uuid"] not in seen]
    state, why = "duplicate", f"the same trace as {other}"
    if left:
        state, why = "overlaps", (f"has a trace that is in {other}, so it is left out with rank"
                                  f" {', '.join(left)}, which is in no other file")
    return Row(UNTOLD, UNTOLD, None, len(left) or None, entry["by"], entry["path"], state, why)


class Turn(NamedTuple):
    """Files of a rank whose times overlap."""

    start: int
    end: int
    paths: List[str]


def turns(entries):
    """{rank: its turns, one after another}"""
    found = {}
    for entry in entries:
        for rank in entry["ranks"]:
            span = (rank["started_ns"], rank["started_ns"] + (rank["lasted_ns"] or 0), entry["path"])
            found.setdefault(rank["rank"], []).append(span)
    return {rank: joined(sorted(spans)) for rank, spans in found.items() if rank is not None}


def joined(spans):
    of_rank = []
    for start, end, path in spans:
        if of_rank and start <= of_rank[-1].end:
            last = of_rank.pop()
            of_rank.append(Turn(last.start, max(end, last.end), last.paths + [path]))
        else:
            of_rank.append(Turn(start, end, [path]))
    return of_rank


def attempts(entries):
    """The entries of one run key by run: a rank that starts after it had ended is in another run. Ranks with
    a file in each run tell by their order, whatever their host's clock says; one that lacks a file somewhere
    is in the run whose ranks began nearest to it."""
    of_all = turns(entries).values()
    most = max(map(len, of_all), default=0)
    whole = [of_rank for of_rank in of_all if len(of_rank) == most]
    begins = [statistics.median(of_rank[nth].start for of_rank in whole) for nth in range(most)] or [0]
    told = {path: nth for of_rank in whole for nth, turn in enumerate(of_rank) for path in turn.paths}
    runs = {}
    for entry in sorted(entries, key=lambda entry: (entry["ranks"][0]["started_ns"], entry["path"])):
        start = entry["ranks"][0]["started_ns"]
        nearest = min(range(len(begins)), key=lambda nth: abs(begins[nth] - start))
        runs.setdefault(told.get(entry["path"], nearest) + 1, []).append(entry)
    return runs


def ranges(numbers):
    """Each (first, last) of numbers that follow one another."""
    found = []
    for one in sorted(numbers):
        if found and found[-1][1] == one - 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    return found


def of_ranks(day, run, ranks):
    """Rows about ranks that were read, each with what is odd about it."""
    middle = statistics.median(rank["started_ns"] for rank in ranks)
    users, first_of = {}, {}
    for rank in ranks:
        about = (day, run, rank["rank"], 1, rank["host"], rank["path"])
        yield Row(*about, "seen", None)
        away_s = (rank["started_ns"] - middle) / NS
        if abs(away_s) > CLOCK_SKEW_S:
            yield Row(*about, "clock_skew", f"its clock is {away_s:+.0f} s from the others' when it started")
        if rank["lost"]:
            yield Row(*about, "events_lost", f"{rank['lost']} of {rank['produced']} events are not recorded")
        for gpu in gpus_of(rank):
            other = users.setdefault((rank["host"], gpu), rank)
            if other is not rank:
                yield Row(*about, "shared_gpu", f"{gpu} is used by rank {other['rank']} ({other['path']}),"
                                                " too: its hours count for both")
        first = first_of.setdefault(rank["rank"], rank)
        if first is not rank and rank["rank"] is not None and are_two(first, rank):
            yield Row(*about, "rank_twice", f"rank {rank['rank']} is at the same time in {first['path']}, on"
                                            f" {first['host']}: if two runs have one id, figures are of both")


def gpus_of(rank):
    return (rank["gpus"] or "").split()


def are_two(one, other):
    """Whether two files of one rank are of other machines or GPUs: they need not be one run. A program and
    what it starts share both."""
    gpus = set(gpus_of(one)), set(gpus_of(other))
    return one["host"] != other["host"] or (all(gpus) and not gpus[0] & gpus[1])


def run_of(name, entries, is_repeated):
    ranks = [{**rank, "path": entry["path"]} for entry in entries for rank in entry["ranks"]]
    day = day_of(statistics.median_low(rank["started_ns"] for rank in ranks))
    expected = max((rank["world_size"] for rank in ranks if rank["world_size"]), default=None)
    seen = {rank["rank"] for rank in ranks if rank["rank"] is not None}
    rows = list(of_ranks(day, name, ranks))
    sizes = sorted({rank["world_size"] for rank in ranks if rank["world_size"]})
    if len(sizes) > 1:
        rows.append(Row(day, name, None, None, None, entries[0]["path"], "contradiction",
                        f"some ranks say that it has {sizes[0]} ranks, others {sizes[-1]}"))
    for first, last in ranges(set(range(expected or 0)) - seen):
        text = f"rank {first} has" if first == last else f"ranks {first} to {last} have"
        rows.append(Row(day, name, first, last - first + 1, None, None, "missing",
                        f"of {expected} ranks {text} left no file that could be read"))
    rows += [Row(day, name, None, None, None, entry["path"], "contradiction", text)
             for entry in entries for text in entry["contradictions"]]
    rows += [Row(day, name, None, None, None, entry["path"], "warned", entry["why"])
             for entry in entries if entry["why"]]
    rows += [Row(day, name, None, None, None, entry["path"], state, why)
             for entry in entries for state, why in entry.get("doubts", [])]
    makers = sorted({entry["made_by"] for entry in entries if entry.get("made_by")})
    if len(makers) > 1:
        rows.append(Row(day, name, None, None, None, entries[0]["path"], "mixed_versions",
                        f"its summaries were made by {' and '.join(makers)}"))
    if is_repeated:
        rows.append(Row(day, name, None, None, None, entries[0]["path"], "same_run_id",
                        "another run has the same id, and its ranks had ended before these began"))
    return Run(name, day, entries, rows, len(seen) or len(ranks), expected)


def runs_of(entries):
    """({name: Run}, rows about files that are in none)"""
    read, other = [], []
    for entry in sorted(entries, key=lambda entry: entry["path"]):
        if entry["state"] == "reduced" and entry["ranks"]:
            read.append(entry)
        else:
            other.append(Row(UNTOLD, UNTOLD, None, None, entry["by"], entry["path"], entry["state"],
                             entry["why"]))
    read, copies = without_copies(read)
    other += copies
    keys, runs = {}, {}
    for entry in read:
        keys.setdefault(key_of(entry), []).append(entry)
    for key, of_key in keys.items():
        for attempt, chosen in attempts(of_key).items():
            name = name_of(key) + ("" if attempt == 1 else f"_{attempt}")
            runs[name] = run_of(name, chosen, attempt > 1)
    return runs, other


def state_of(entries):
    """Of each run the files that it is made of."""
    runs = collections.defaultdict(set)
    for entry in entries.values():
        if entry.get("run"):
            runs[entry["run"]].add((entry["path"], entry["bytes"], entry["mtime_ns"]))
    return runs


def assigned(entries, runs):
    """The entries, each with the name of its run."""
    of = {entry["path"]: run.name for run in runs.values() for entry in run.entries}
    return {path: {**entry, "run": of.get(path)} for path, entry in entries.items()}


def settled(known, entries, pending):
    """(entries with the names of their runs, runs, rows of files that are in none, runs to be written)"""
    before, touched = state_of(known), set(pending)
    while True:
        runs, other = runs_of(list(entries.values()))
        entries = assigned(entries, runs)
        now = state_of(entries)
        touched |= {run for run in before.keys() | now.keys() if before.get(run) != now.get(run)}
        lost = [path for path, entry in entries.items() if entry["run"] in touched and is_gone(entry)]
        if not lost:
            return entries, runs, other, touched
        entries.update((path, gone(entries[path])) for path in lost)
