"""Seeds and bases of the fuzz targets: small files that are whole, made anew from the makers of the tests."""
import gzip
import pathlib
import random
import sqlite3
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "tools"))
import box  # noqa: E402
import hostile_names  # noqa: E402
import kineto_made  # noqa: E402
import made_traces  # noqa: E402
import nsys_made  # noqa: E402
import xplane_made  # noqa: E402

KEPT = HERE / "seeds"
SCRIPTS = 64
PAGED = ("launch", "launch_device", "copy", "sync", "host_gap", "name", "process")


def make_bases(folder):
    """A trace, a run, an export of nsys: whole files that scripts damage, as small as can be."""
    folder.mkdir(parents=True, exist_ok=True)
    trace = folder / "trace.db"
    for old in folder.glob("*"):
        old.unlink()
    made_traces.make(trace)
    made_traces.add_device_times(trace)
    add_a_training(trace)
    made_traces.closed(trace)
    make_run(folder / "run.db")
    nsys_made.program(folder / "nsys.db", nsys_made.NEW)
    make_paged(folder / "pages.db", trace)
    return folder


def add_a_training(path):
    """Steps of ten launches, each with a collective, gaps of the host, an allocation, what NVML showed."""
    base = sqlite3.connect(path)
    collective, memory = (base.execute(f"SELECT * FROM {table}").fetchone()[2:] for table in
                          ("collective", "memory"))
    for step in range(made_traces.LAUNCHES // 10):
        begin_ns = made_traces.FIRST_NS + step * 100_000
        base.execute("INSERT INTO marker (enter_ns, thread_id, kind, value) VALUES (?, 1, 'step', 32)",
                     (begin_ns - 500,))
        base.execute("INSERT INTO host_gap VALUES (?, 5000, 1, 3000, 500, 'futex', 1)", (begin_ns + 4500,))
        for table, dur_ns, rest in (("collective", 1200, (*collective[:4], step + 1, *collective[5:])),
                                    ("memory", 900, memory)):
            marks = ", ".join("?" * (2 + len(rest)))
            base.execute(f"INSERT INTO {table} VALUES ({marks})", (begin_ns + 95_000 - dur_ns, dur_ns, *rest))
        for key, value in (("gpu_busy_percent", 50 + step), ("power_mw", 90_000), ("sm_mhz", 1410)):
            base.execute("INSERT INTO nvml VALUES (?, 0, ?, ?)", (begin_ns, key, value))
    base.execute("UPDATE ring_commit SET seq = seq + ?", (made_traces.LAUNCHES // 10 * 2,))
    base.commit()
    base.close()


def make_run(path):
    """Of two ranks with steps, copies and collectives, so every part of a report has something to say."""
    ranks = []
    for rank in range(2):
        trace = kineto_made.made(20 + rank, 4)
        trace.rank = rank
        ranks.append(trace.write(path.parent / f"rank-{rank}.json.gz"))
    done = box.run([box.BUILD / "gpushim", "import", "kineto", *ranks, "-o", path], sim=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    for rank in ranks:
        rank.unlink()


def make_paged(path, trace):
    """The tables of a trace that are read page by page, and nothing else: opened at once. With pages of 512
    bytes they are trees."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA page_size = 512")
    base.execute("PRAGMA user_version = 2")
    base.execute("ATTACH ? AS whole", (str(trace),))
    for table in PAGED:
        sql, = base.execute("SELECT sql FROM whole.sqlite_schema WHERE name = ?", (table,)).fetchone()
        base.execute(sql)
        base.execute(f"INSERT INTO main.{table} SELECT * FROM whole.{table}")
    base.commit()
    base.close()


def kineto():
    trace = kineto_made.Trace()
    trace.step(1, 1_000_000, 900_000)
    for i, name in enumerate(kineto_made.KERNELS):
        trace.kernel(name, 1_000_000 + i * 9000, 1_005_000 + i * 9000, 5000, stream=7 + i % 2)
    call = trace.call("cudaMemcpyAsync", 1_100_000, 3000)
    trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1_110_000, 2000, 7, call, bytes=4096)
    trace.kernel(kineto_made.COLLECTIVE, 1_200_000, 1_205_000, 9000, 20, **kineto_made.NCCL_ARGUMENTS)
    return trace.text().encode()


def made(target):
    """Of targets whose seeds are not kept as files."""
    if target in ("kineto", "import"):
        return [kineto(), gzip.compress(kineto(), mtime=0)]
    if target in ("xplane", "xplane_import"):
        whole = xplane_made.program(steps=1).bytes()
        return [whole, gzip.compress(whole, mtime=0)]
    if target == "gzip":
        return [gzip.compress(kineto(), mtime=0)[2:], gzip.compress(b"x" * 100_000, mtime=0)[2:]]
    if target == "escape":
        return [name.encode()[:400] for name in hostile_names.NAMES.values()] + [hostile_names.NO_UTF8]
    if target in ("calls", "trace", "run", "analyze", "report", "nsys", "pages", "ring"):
        dice = random.Random(target)
        return [bytes([size]) + dice.randbytes(size) + dice.randbytes(dice.randrange(40))
                for size in (dice.choice((0, 2, 4, 9)) for _ in range(SCRIPTS))]
    return []


def write(target, folder):
    """The seeds of a target as files."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = sorted((KEPT / target).glob("*"))
    for number, content in enumerate([path.read_bytes() for path in kept] + made(target)):
        (folder / f"seed-{number}").write_bytes(content)
    return sorted(folder.glob("seed-*"))
