"""Traces made by hand from the schema: small, exact, and as strange as a test wants them."""
import pathlib
import sqlite3

import box

SCHEMA = [box.BUILD / "obj/shim/schema" / f"{part}.sql" for part in ("tables", "views", "totals")]
APIS = [(1, "cuLaunchKernel", "launch"), (2, "cuMemcpyHtoD_v2", "copy"), (3, "cuStreamSynchronize", "sync"),
        (4, "ncclAllReduce", "collective"), (5, "cuMemAlloc_v2", "memory"), (6, "cuStreamQuery", "query")]
LAUNCHES, COPIES = 100, 4
FIRST_NS = 2000
REAL_MINUS_MONO_NS = 1_700_000_000_000_000_000


# As the writer sums rows up, but for histograms.
SUM_UP = """
CREATE TEMP TABLE event AS
SELECT 'launch' AS kind, l.flags & 47 AS flags, s.api_id, l.stream_id, h.name_id, NULL AS communicator_id,
  NULL AS target_kind, NULL AS direction, NULL AS sides, NULL AS dtype, NULL AS op, NULL AS bytes,
  l.enter_ns / 1000000000 AS second, 1 AS calls, l.dur_ns, NULL AS sum_bytes
FROM launch l JOIN shape s ON s.id = l.shape_id JOIN handle h ON h.id = s.handle_id
UNION ALL SELECT 'copy', flags, api_id, stream_id, NULL, NULL, NULL, direction, sides, NULL, NULL, NULL,
  enter_ns / 1000000000, 1, dur_ns, bytes FROM copy
UNION ALL SELECT 'sync', flags, api_id, stream_id, NULL, NULL, (SELECT kind FROM handle WHERE id = target_id),
  NULL, NULL, NULL, NULL, NULL, enter_ns / 1000000000, calls, dur_ns, NULL FROM sync
UNION ALL SELECT 'collective', flags, api_id, stream_id, NULL, communicator_id, NULL, NULL, NULL, dtype, op,
  bytes, enter_ns / 1000000000, 1, dur_ns, bytes FROM collective
UNION ALL SELECT 'memory', flags, api_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  enter_ns / 1000000000, 1, dur_ns, bytes FROM memory;
INSERT INTO series SELECT row_number() OVER (), kind, flags, api_id, stream_id, name_id, NULL, NULL,
  communicator_id, target_kind, direction, sides, dtype, op, bytes
FROM (SELECT DISTINCT kind, flags, api_id, stream_id, name_id, communicator_id, target_kind, direction, sides,
  dtype, op, bytes FROM event);
INSERT INTO rollup SELECT e.second, s.id, 1, count(*), sum(e.calls), sum(e.dur_ns), min(e.dur_ns),
  max(e.dur_ns), sum(e.sum_bytes), NULL
FROM event e JOIN series s ON (s.kind, s.flags, s.api_id) = (e.kind, e.flags, e.api_id)
  AND s.stream_id IS e.stream_id AND s.name_id IS e.name_id AND s.communicator_id IS e.communicator_id
  AND s.target_kind IS e.target_kind AND s.direction IS e.direction AND s.sides IS e.sides
  AND s.bytes IS e.bytes
GROUP BY e.second, s.id;
"""


def make(path, rank=0, ranks=1, run_key="run", started_ns=0, kernel="gemm__10us",
         device="Simulated GPU", schema=SCHEMA):
    """A whole trace at `path`: LAUNCHES launches of 4,000 to 4,099 ns, COPIES of 1 MB at 1 GB/s,
    one wait, one row of ten queries, one AllReduce, one allocation. Its rows say where each event went."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA synchronous = OFF")
    for part in schema:
        base.executescript(part.read_text(encoding="utf-8"))
    base.execute("PRAGMA journal_mode = WAL")
    is_newest = base.execute("PRAGMA user_version").fetchone()[0] > 1

    def row(table, *values):
        base.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(values))})', values)

    for key, value in {"uuid": f"{run_key}-{rank}", "host": "box", "started_mono_ns": FIRST_NS,
                       "started_real_ns": REAL_MINUS_MONO_NS + FIRST_NS + started_ns}.items():
        row("meta", key, value)
    row("process", 100 + rank, 1, 1, "trainer", rank, rank, ranks, run_key, 0, None)
    row("device", 0, f"GPU-{rank}", device, 16 << 30, "0000:01:00.0",
        *([132, "9.0"] if is_newest else []))
    row("thread", 1, 100 + rank, "trainer", FIRST_NS)
    row("handle", 1, "context", 1, FIRST_NS, None, None, 0, None)
    row("handle", 2, "stream", 0x55, FIRST_NS, None, 1, 0, None)
    row("handle", 3, "function", 0x99, FIRST_NS, None, None, None, 1)
    row("context", 1, 1, 0)
    row("stream", 1, 2, 1, "made", None, 0, 0)
    row("name", 1, kernel, None)
    for number, name, kind in APIS:
        row("api", number, name, name.replace("_v2", ""), kind)
    row("shape", 1, 3, 1, 1, 1, 1, 256, 1, 1, 0, None, None, None, None)
    row("communicator", 1, "c0ffee", None, 0, rank, ranks, None)

    now_ns = FIRST_NS
    for i in range(LAUNCHES):
        row("launch", now_ns + i * 10_000, 4000 + i, 1, 1, 1, None, 0)
    now_ns += LAUNCHES * 10_000
    for i in range(COPIES):
        row("copy", now_ns + i * 2_000_000, 1_000_000, 1, 1, 2, 1_000_000, 1, 1 + 8 * 4, None, 32)
    now_ns += COPIES * 2_000_000
    row("sync", now_ns, 500_000, 1, 3, 2, 1, 1, None, 0)
    row("sync", now_ns + 1_000_000, 2_000, 1, 6, 2, 1, 10, None, 0)
    row("collective", now_ns + 2_000_000, 9_000, 1, 1, 4, 1, 0, 250_000, 7, 0, None, 1_000_000, 1, 0)
    row("memory", now_ns + 3_000_000, 3_000, 1, 5, 0x4000, 1 << 30, 4, 1, 1 << 30, None, 0,
        *([None] if is_newest else []))
    row("ring_commit", 1, LAUNCHES + COPIES + 4, None, 0, 9, now_ns)
    if is_newest:
        row("memory_peak", 1, 4, 0, 1 << 30, now_ns + 3_003_000)
        base.executescript(SUM_UP)
    base.commit()
    base.close()


def add_device_times(path, window_ns=2_000_000, own_ns=3_000, timed=LAUNCHES):
    """One window from the start. The first `timed` launches in it are 5 us each, of every 10, start 8 us
    after their calls began, and had two events of ours each; the later half are estimates within 1 us."""
    base = sqlite3.connect(path)
    base.execute("INSERT INTO level_error VALUES (1, 'events', 1, 0, 0, 0, 0, 100, 2),"
                 " (2, 'events', 0, 1000, 1000, 1000, 1000, 500, 2)")
    for i in range(timed):
        level = 1 if i < LAUNCHES // 2 else 2
        base.execute("INSERT INTO launch_device VALUES (?, 8000, 5000, ?)", (FIRST_NS + i * 10_000, level))
    base.execute('INSERT INTO "window" VALUES (?, 0, ?, NULL, ?, ?, ?, 2, ?)',
                 (FIRST_NS, window_ns, window_ns, LAUNCHES, timed, own_ns))
    base.execute("INSERT INTO device_clock VALUES"
                 " (?, 1, 0, 250, NULL, NULL, 2500, 1500, 4000, 500, 0, 0, 0, 1)",
                 (FIRST_NS,))
    base.execute("INSERT INTO cost VALUES (?, 10000000, 109, 200000, 60000, 0, 80000, 30000, 400000)",
                 (FIRST_NS + 10_000_000,))
    base.execute("INSERT INTO clock VALUES (?, ?, ?)",
                 (FIRST_NS + 11_000_000, 1, REAL_MINUS_MONO_NS + FIRST_NS + 11_000_000))
    base.commit()
    base.close()


def closed(path):
    """One file, as a process leaves it that has ended: nothing is beside it, and it may lie anywhere."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = DELETE")
    base.execute("VACUUM")
    base.close()


def make_run(folder, ranks, **options):
    """One trace per rank, as a job leaves them."""
    pathlib.Path(folder).mkdir(exist_ok=True)
    for rank in range(ranks):
        make(pathlib.Path(folder) / f"gpushim.box.{rank}.{100 + rank}.db", rank, ranks, **options)
