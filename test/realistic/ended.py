"""Traces as a job leaves them that ended badly."""
import contextlib
import pathlib
import sqlite3

CALLS = ("launch", "copy", "memset", "collective", "memory", "call", "marker", "sync")
FOR_NS = 11_000_000_000


def in_a_hang(folder, ranks, missing):
    """As they end that are killed 11 s after one rank made its last call: the others wait for it."""
    for rank in ranks:
        with contextlib.closing(sqlite3.connect(pathlib.Path(folder, f"{rank}.db"))) as base, base:
            base.execute("UPDATE meta SET value = 'recovered' WHERE key = 'ended'")
            at_ns, = base.execute("SELECT enter_ns FROM sync ORDER BY enter_ns DESC LIMIT 1").fetchone()
            for table in CALLS:
                base.execute(f"DELETE FROM {table} WHERE enter_ns > ?", (at_ns,))
            if rank == missing:
                base.execute("DELETE FROM collective WHERE seq = (SELECT max(seq) FROM collective)")
                base.execute("DELETE FROM sync WHERE enter_ns = ?", (at_ns,))
                base.execute("DELETE FROM clock WHERE mono_ns > ?", (at_ns,))
            else:
                base.execute("UPDATE sync SET dur_ns = NULL, flags = flags | 4 WHERE enter_ns = ?", (at_ns,))
                base.execute("INSERT INTO clock VALUES (?, 0, 0)", (at_ns + FOR_NS,))
