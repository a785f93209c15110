"""The tables of a rank summary as rows for a fleet: their columns are read from the file that gpushim makes
summaries by, and gpu_id and rank_id become numbers that no other summary has. Runs in executors."""
import hashlib
import pathlib
import sqlite3

from fleet import files, metrics

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "analysis/run/sql/summary/10_summary.sql"
# Made again over all ranks of a run, or told once for all.
NOT_TAKEN = ("metric", "metric_interval", "metric_definition", "v_contradiction")
ADDED = (("summary", "TEXT"), ("rank", "INTEGER"))
PARTS = [("day", "TEXT"), ("run", "TEXT")]
SEEN = [("ranks_seen", "INTEGER"), ("ranks_expected", "INTEGER")]
RUN_TABLE = [("model", "TEXT"), ("machine", "TEXT"), ("gpus", "INTEGER"), ("summaries", "INTEGER"),
             ("started_ns", "INTEGER"), ("price_per_gpu_hour", "REAL")] + SEEN
COVERAGE = [("rank", "INTEGER"), ("ranks", "INTEGER"), ("host", "TEXT"), ("path", "TEXT"), ("state", "TEXT"),
            ("why", "TEXT")]
METRIC_KINDS = {"value": "REAL", "coverage": "REAL", "timed_share": "REAL", "id": "INTEGER",
                "definition": "INTEGER", "clock_error_ns": "INTEGER", "low": "REAL", "high": "REAL",
                "likely_low": "REAL", "likely_high": "REAL"}


def kinds(columns):
    return [(name, METRIC_KINDS.get(name, "TEXT")) for name in columns]


def schema(text=None):
    """{table: [(column, type)]}, without those that are not taken."""
    base = sqlite3.connect(":memory:")
    base.executescript(text or SCHEMA.read_text(encoding="utf-8"))
    names = [name for name, in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = {name: [(column, kind or "TEXT")
                    for _, column, kind, *_ in base.execute(f'PRAGMA table_info("{name}")')]
             for name in names if name not in NOT_TAKEN}
    base.close()
    return found


def columns_of(columns):
    """With those that the fleet adds: which summary a row is of, and which rank where it has one."""
    there = {column for column, _ in columns}
    return list(columns) + [(column, kind) for column, kind in ADDED if column not in there]


def wide_id(uuid, number):
    """The same on every machine; 63 bits of a hash."""
    return int.from_bytes(hashlib.blake2b(f"{uuid}:{number}".encode(), digest_size=8).digest(), "big") >> 1


def fitted(value, kind):
    if value is None:
        return None
    if kind == "TEXT":
        return value if isinstance(value, str) else str(value)
    return float(value) if kind == "REAL" else int(value)


class Ids:
    """The numbers of one summary's ranks and GPUs."""

    def __init__(self, base):
        self.uuid, self.rank, self.rank_of_gpu = {}, {}, {}
        for rank_id, uuid, rank in base.execute("SELECT rank_id, uuid, rank FROM rank ORDER BY rank_id"):
            self.uuid[rank_id], self.rank[rank_id] = uuid, rank
        for gpu_id, rank_id in base.execute("SELECT gpu_id, rank_id FROM gpu"):
            self.rank_of_gpu[gpu_id] = rank_id
        self.summary = self.uuid[min(self.uuid)]

    def wide(self, column, value):
        if value is None:
            return None
        if column == "gpu_id":
            return wide_id(self.uuid.get(self.rank_of_gpu.get(value), self.summary), f"gpu {value}")
        return wide_id(self.uuid.get(value, self.summary), "rank")

    def rank_of(self, row):
        rank_id = row.get("rank_id", self.rank_of_gpu.get(row.get("gpu_id")))
        return self.rank.get(rank_id)


def rows(place, table, columns):
    """Of one table of the summary at `place`, in the order of columns_of(columns); read as they are asked
    for."""
    base = files.opened(place)
    ids = Ids(base)
    names = ", ".join(f's."{column}"' for column, _ in columns)
    for values in base.execute(f'SELECT {names} FROM "{table}" s'):
        row = {column: fitted(value, kind) for (column, kind), value in zip(columns, values)}
        rank = ids.rank_of(row)
        for column in ("gpu_id", "rank_id"):
            if column in row:
                row[column] = ids.wide(column, row[column])
        yield tuple(row[column] for column, _ in columns) + tuple(
            {"summary": ids.summary, "rank": rank}[column]
            for column, _ in columns_of(columns)[len(columns):])
    base.close()


def of_a_fleet():
    """{table: columns}, without the two of its folders (PARTS)."""
    return {**{table: columns_of(columns) for table, columns in schema().items()},
            "fleet_run": RUN_TABLE, "coverage": COVERAGE,
            "metric": kinds(metrics.METRIC_COLUMNS) + SEEN,
            "metric_interval": kinds(metrics.INTERVAL_COLUMNS) + SEEN}
