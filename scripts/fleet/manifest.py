"""What has been read of a fleet, which run each file belongs to, and what is not whole. Plain data and files:
nothing here knows Spark. The manifest is manifest.jsonl, a line for each file, replaced as a whole; a run
that is being written stands in `pending`, so the next reading writes it again."""
import datetime
import hashlib
import json
import os
import pathlib
import re
import statistics
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
            and entry["state"] not in ("no_binary", "other_version", "not_written")
            and (entry["summary"] is None or files.is_summary(entry["summary"])))


def name_of(key):
    """A name that every file system takes; another key has another name."""
    plain = re.sub(r"[^A-Za-z0-9.-]", "-", key)[:80]
    digest = hashlib.blake2b(key.encode(), digest_size=4).hexdigest()
    return plain if plain == key else f"{plain}-{digest}"


def day_of(started_ns):
    return datetime.datetime.fromtimestamp(started_ns // NS, datetime.timezone.utc).strftime("%Y-%m-%d")


def key_of(entry):
    first = entry["ranks"][0]
    return first["run_key"] or f"{first['host']}-{first['uuid']}"


def without_copies(entries):
    """(entries of which each trace is in one only, rows of the others)"""
    kept, copies, seen = [], [], {}
    for entry in entries:
        uuids = [rank["uuid"] for rank in entry["ranks"]]
        twice = next((uuid for uuid in uuids if uuid in seen), None)
        if twice is None:
            kept.append(entry)
            seen.update((uuid, entry["path"]) for uuid in uuids)
        else:
            copies.append((entry, f"the same trace as {seen[twice]}"))
    return kept, copies


def attempts(entries):
    """The entries of one run key by run: a rank that starts after it had ended is in another run."""
    ends, runs = {}, {}
    for entry in sorted(entries, key=lambda entry: (entry["ranks"][0]["started_ns"], entry["path"])):
        attempt = 1
        for rank in entry["ranks"]:
            nth, end = ends.get(rank["rank"], (1, None))
            is_later = rank["rank"] is not None and end is not None and rank["started_ns"] > end
            attempt = max(attempt, nth + is_later)
        for rank in entry["ranks"]:
            ends[rank["rank"]] = (attempt, rank["started_ns"] + (rank["lasted_ns"] or 0))
        runs.setdefault(attempt, []).append(entry)
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
    users = {}
    for rank in ranks:
        about = (day, run, rank["rank"], 1, rank["host"], rank["path"])
        yield Row(*about, "seen", None)
        away_s = (rank["started_ns"] - middle) / NS
        if abs(away_s) > CLOCK_SKEW_S:
            yield Row(*about, "clock_skew", f"its clock is {away_s:+.0f} s from the others' when it started")
        if rank["lost"]:
            yield Row(*about, "events_lost", f"{rank['lost']} of {rank['produced']} events are not recorded")
        for gpu in (rank["gpus"] or "").split():
            other = users.setdefault((rank["host"], gpu), rank["path"])
            if other != rank["path"]:
                yield Row(*about, "shared_gpu", f"{gpu} is used by {other}, too: its hours count for both")


def run_of(name, entries, is_repeated):
    ranks = [{**rank, "path": entry["path"]} for entry in entries for rank in entry["ranks"]]
    day = day_of(int(statistics.median(rank["started_ns"] for rank in ranks)))
    expected = max((rank["world_size"] for rank in ranks if rank["world_size"]), default=None)
    seen = {rank["rank"] for rank in ranks if rank["rank"] is not None}
    rows = list(of_ranks(day, name, ranks))
    for first, last in ranges(set(range(expected or 0)) - seen):
        text = f"rank {first} has" if first == last else f"ranks {first} to {last} have"
        rows.append(Row(day, name, first, last - first + 1, None, None, "missing",
                        f"of {expected} ranks {text} left no file that could be read"))
    rows += [Row(day, name, None, None, None, entry["path"], "contradiction", text)
             for entry in entries for text in entry["contradictions"]]
    rows += [Row(day, name, None, None, None, entry["path"], "warned", entry["why"])
             for entry in entries if entry["why"]]
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
    other += [Row(UNTOLD, UNTOLD, None, None, entry["by"], entry["path"], "duplicate", why)
              for entry, why in copies]
    keys, runs = {}, {}
    for entry in read:
        keys.setdefault(key_of(entry), []).append(entry)
    for key, of_key in keys.items():
        for attempt, chosen in attempts(of_key).items():
            name = name_of(key) + ("" if attempt == 1 else f".{attempt}")
            runs[name] = run_of(name, chosen, attempt > 1)
    return runs, other
