"""Traces that nobody recorded, written from a seed without processes: any number of ranks, streams, kernels,
steps and copies, with and without device times, also of no length, at the same moment, without names. Each is
one that could have been recorded: on a stream one operation follows the other, none runs before its call.
Strange ones could not: there operations have any times."""
import pathlib
import random
import sqlite3

import made_traces

NAMES = ["gemm__10us", "", " ", "sgd_update", "ncclDevKernel_AllReduce_Sum_f32", "é" * 300, "a\nb\x1b[31m",
         "softmax"]


class Made:
    """What is known of a rank's trace because it was made so."""

    def __init__(self, path, rng, rank, ranks, is_strange):
        self.rng, self.rank, self.ranks, self.is_strange = rng, rank, ranks, is_strange
        self.base = sqlite3.connect(path)
        self.base.execute("PRAGMA synchronous = OFF")
        self.base.execute("PRAGMA journal_mode = MEMORY")
        for part in made_traces.SCHEMA:
            self.base.executescript(part.read_text(encoding="utf-8"))
        self.now_ns = made_traces.FIRST_NS
        self.launches = self.operations = self.timed = self.events = 0
        self.timed_share = rng.choice([0, 0.3, 0.995, 1, 1])
        self.free_ns = {stream: 0 for stream in range(1, rng.randint(1, 4) + 1)}
        self.names = rng.sample(NAMES, rng.randint(1, 5))
        self.usual_ns = [rng.choice([0, 1, 500, 10_000, 300_000, 20_000_000]) for _ in self.names]

    EVENTS = ("launch", "copy", "sync", "marker")

    def row(self, table, *values):
        self.events += table in self.EVENTS
        self.base.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(values))})', values)

    def things(self):
        for key, value in {"uuid": f"run-{self.rank}", "host": "box", "boot_id": "box", "ended": "exit",
                           "started_mono_ns": made_traces.FIRST_NS,
                           "started_real_ns": made_traces.REAL_MINUS_MONO_NS + made_traces.FIRST_NS}.items():
            self.row("meta", key, value)
        self.row("process", 100 + self.rank, 1, 1, "trainer", self.rank, self.rank, self.ranks, "run", 0,
                 None)
        self.row("device", 0, f"GPU-{self.rank}", "Simulated GPU", 16 << 30, "0000:01:00.0", 132, "9.0")
        self.row("thread", 1, 100 + self.rank, "trainer", made_traces.FIRST_NS)
        self.row("handle", 1, "context", 1, made_traces.FIRST_NS, None, None, 0, None)
        self.row("context", 1, 1, 0)
        for number, name, kind in made_traces.APIS:
            self.row("api", number, name, name.replace("_v2", ""), kind)
        for stream in self.free_ns:
            self.row("handle", 1 + stream, "stream", 0x50 + stream, made_traces.FIRST_NS, None, 1, 0, None)
            self.row("stream", stream, 1 + stream, 1, "made", None, 0, 0)
        for number, name in enumerate(self.names, 1):
            self.row("name", number, name, None)
            self.row("handle", 100 + number, "function", 0x900 + number, made_traces.FIRST_NS, None, None,
                     None, number)
            self.row("shape", number, 100 + number, 1, number, 1, 1, 256, 1, 1, 0, None, None, None, None)
        self.row("level_error", 1, "cupti", 1, 0, 0, 0, 0, 0, 0)

    def ran(self, table, enter_ns, stream, dur_ns):
        self.operations += 1
        start_ns = max(enter_ns + self.rng.choice([0, 1, 3_000, 40_000]), self.free_ns[stream])
        if self.is_strange:
            start_ns = enter_ns + self.rng.choice([-1 << 40, -5_000, -1, 0, 7, 10_000, 1 << 50, 1 << 62])
            dur_ns = self.rng.choice([-1, 0, dur_ns, 1 << 45, 1 << 62])
        self.free_ns[stream] = min(start_ns + dur_ns, 1 << 60)
        if self.rng.random() < self.timed_share:
            self.timed += 1
            self.row(f"{table}_device", enter_ns, start_ns - enter_ns, dur_ns, 1)

    def launch(self):
        stream, name = self.rng.choice(list(self.free_ns)), self.rng.randrange(len(self.names))
        self.launches += 1
        self.row("launch", self.now_ns, self.rng.choice([0, 1, 4_000]), 1, stream, 1 + name, None, 0)
        self.ran("launch", self.now_ns, stream, self.usual_ns[name])

    def copy(self):
        stream, size = self.rng.choice(list(self.free_ns)), self.rng.choice([1, 4, 4096, 4_000_000])
        self.row("copy", self.now_ns, 4_000, 1, stream, 2, size, self.rng.choice([1, 2, 3]), 2 + 8 * 4, None,
                 0)
        self.ran("copy", self.now_ns, stream, size // 25)

    def wait(self):
        ends_ns = max(self.now_ns, *self.free_ns.values())
        self.row("sync", self.now_ns, ends_ns - self.now_ns, 1, 3, 2, 1, 1, None, 0)
        self.now_ns = ends_ns

    def step(self):
        self.row("marker", self.now_ns, 1, "step", None, None, None, None, None, None, 0)
        self.row("step_total", self.now_ns, 1, "mark", 1, None, None, None, None, None)

    def advance(self):
        self.now_ns += self.rng.choice([1, 2, 5_000, 5_000, 30_000, 400_000])

    def play(self, steps, is_marked):
        usual = [self.rng.choice([self.launch, self.launch, self.copy, self.wait])
                 for _ in range(self.rng.randint(1, 12))]
        for _ in range(steps):
            calls = usual if self.rng.random() < 0.9 else self.rng.sample(usual, len(usual))
            for call in calls:
                call()
                self.advance()
            if is_marked:
                self.step()
                self.advance()

    def close(self):
        end_ns = max(self.now_ns, *self.free_ns.values()) + 1
        if self.timed:
            first_ns = made_traces.FIRST_NS
            self.row("window", first_ns, 0, end_ns - first_ns, None, end_ns - first_ns, self.operations,
                     self.timed, 0, 0)
        for at_ns in (made_traces.FIRST_NS, end_ns):
            self.row("clock", at_ns, at_ns, made_traces.REAL_MINUS_MONO_NS + at_ns)
        self.row("ring_commit", 1, self.events, None, 0, 0, end_ns)
        self.base.executescript(made_traces.SUM_UP)
        self.base.commit()
        self.base.close()


def make_run(folder, seed, is_strange=False):
    """The ranks' traces in that folder, and what is known of them."""
    rng = random.Random(seed)
    ranks, steps = rng.choice([1, 1, 1, 2, 3]), rng.choice([0, 1, 2, 5, 12, 25])
    is_marked = rng.random() < 0.6
    made = []
    for rank in range(ranks):
        one = Made(pathlib.Path(folder, f"{rank}.db"), rng, rank, ranks, is_strange)
        one.things()
        one.play(steps, is_marked)
        one.close()
        made.append(one)
    return made
