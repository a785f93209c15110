"""A fleet of hand-made rows: runs of many GPUs, of which SQLite is asked the questions of scripts/fleet."""
import datetime
import sqlite3
import sys

import box

sys.path.insert(0, str(box.ROOT / "scripts"))
from fleet import questions, tables  # pylint: disable=wrong-import-position

MS, HOUR_NS, STEPS = 1_000_000, 3_600_000_000_000, 100


class MadeFleet:
    def __init__(self):
        self.base = sqlite3.connect(":memory:")
        for table, columns in questions.asked_of().items():
            names = ", ".join(f'"{name}" {kind}' for name, kind in columns + tables.PARTS)
            self.base.execute(f'CREATE TABLE "{table}" ({names})')

    def row(self, table, **cells):
        names = ", ".join(f'"{name}"' for name in cells)
        self.base.execute(f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(cells))})',
                          list(cells.values()))

    def add_run(self, nth, day, gpus, step_ms, hour=0):
        """gpus: [(host, UUID, own milliseconds of a step)], one for each rank. An hour, a quarter idle."""
        midnight = datetime.datetime.fromisoformat(f"{day}T00:00:00+00:00")
        started_ns = int(midnight.timestamp()) * 1_000_000_000 + hour * HOUR_NS
        of = {"day": day, "run": f"job-{nth}"}
        ranks = len(gpus)
        self.row("fleet_run", model="llm", machine="2 x GPU", gpus=ranks, summaries=ranks,
                 started_ns=started_ns, price_per_gpu_hour=2.0, ranks_seen=ranks, ranks_expected=ranks, **of)
        self.row("metric", name="step_median_ns", scope="run", id=0, value=step_ms * MS, **of)
        window = STEPS * step_ms * MS
        for rank, (host, uuid, own_ms) in enumerate(gpus):
            gpu_id = nth * 10_000 + rank
            self.row("rank", rank_id=gpu_id, rank=rank, host=host, **of)
            self.row("gpu", gpu_id=gpu_id, rank_id=gpu_id, uuid=uuid, run_ns=HOUR_NS, **of)
            self.row("kernel", gpu_id=gpu_id, name="gemm", timed=1, **of)
            self.row("v_gpu_total", gpu_id=gpu_id, basis="steps", steps=STEPS, window_ns=window,
                     idle_ns=window // 4, busy_ns=window - window // 4,
                     exposed_comm_ns=STEPS * (step_ms - own_ms) * MS, **of)
            self.row("v_gpu_idle", gpu_id=gpu_id, cause="input_wait", cause_group="input", ns=window // 4,
                     **of)
            self.row("coverage", rank=rank, ranks=1, host=host, state="seen", **of)

    def answer(self, text):
        """(columns, rows), with the types of what they hold."""
        rows = self.base.execute(text)
        names, rows = [column for column, *_ in rows.description], rows.fetchall()
        return [(name, "") for name in names], rows

    def write(self, folder):
        questions.write_answers(folder, self.answer)

    def close(self):
        self.base.close()
