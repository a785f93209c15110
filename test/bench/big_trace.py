"""Traces of any size for measuring the analyzer: a training loop with three streams, every operation timed.
What is in them is made up; nothing ran. Rows come from SQL, since Python would
take longer than what is measured."""
import contextlib
import os
import pathlib
import shutil
import sqlite3

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / os.environ.get("GPUSHIM_BUILD", "build") / "obj/shim/schema"
PER_STEP = 100  # launches; nine of ten on the compute stream, the others on the collectives'
LAUNCH_NS = 20_000  # of a step for each
LATER_NS = 1_000  # than on the rank before


def make(path, launches, rank=0, ranks=1, per_step=PER_STEP, collectives=False):
    """A trace of so many launches (in whole steps); `collectives`: with the calls of NCCL that one in ten is
    of, which all ranks make together."""
    path.unlink(missing_ok=True)
    base = sqlite3.connect(path, isolation_level=None)
    base.executescript("PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;")
    for name in ("tables.sql", "views.sql", "totals.sql"):
        base.executescript((SCHEMA / name).read_text(encoding="utf-8"))
    steps = max(2, launches // per_step)
    step_ns = per_step * LAUNCH_NS
    step_operations = per_step + 1
    end_ns = 1_000_000_000 + steps * step_ns
    events = steps * (2 + per_step) + (steps * per_step // 10 if collectives else 0)
    base.executescript(f"""
        BEGIN;
        INSERT INTO meta VALUES ('uuid', 'made-{rank}-{launches}'), ('host', 'made'), ('clock', 'test'),
          ('started_mono_ns', 1000000000), ('started_real_ns', 1700000000000000000), ('budget_ppm', 1000000);
        INSERT INTO process VALUES ({1 + rank}, 0, 0, 'made', {rank}, {rank}, {ranks}, 'made', 0, NULL);
        INSERT INTO thread VALUES (1, 1, 'main', 0);
        INSERT INTO device VALUES (0, 'GPU-made-{rank}', 'Simulated made-up GPU', {16 << 30}, '0', 132,
                                   '9.0');
        INSERT INTO handle VALUES (1, 'context', 1, 0, NULL, NULL, 0, NULL);
        INSERT INTO context VALUES (1, 1, 0);
        INSERT INTO api VALUES (1, 'cuLaunchKernel', 'cuLaunchKernel', 'launch'),
          (2, 'cuMemcpyHtoDAsync_v2', 'cuMemcpyHtoDAsync', 'copy'),
          (3, 'cuStreamSynchronize', 'cuStreamSynchronize', 'sync');
        INSERT INTO stream VALUES (1, 2, 1, 'made', NULL, 1, 0), (2, 3, 1, 'made', NULL, 1, 0),
          (3, 4, 1, 'made', NULL, 1, 0);
        INSERT INTO handle SELECT 1 + value, 'stream', 16 + value, 0, NULL, 1, 1, NULL
          FROM (SELECT 1 AS value UNION SELECT 2 UNION SELECT 3);
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
          INSERT INTO name SELECT 10 + i, CASE WHEN i = 19 THEN 'multi_tensor_apply_kernel_adam'
            WHEN i = 18 THEN 'nccl_made_up' ELSE 'layer_' || i END, NULL FROM n;
        INSERT INTO handle SELECT id + 100, 'function', id, 0, NULL, NULL, NULL, id FROM name;
        INSERT INTO shape SELECT id, id + 100, 1, 64, 1, 1, 256, 1, 1, 0, NULL, NULL, NULL, NULL FROM name;
        INSERT INTO level_error VALUES (1, 'events', 1, 0, 0, 0, 0, 0, 0);
        INSERT INTO clock VALUES (1000000000, 0, 1700000000000000000),
          ({end_ns}, 0, 1700000000000000000 + {end_ns} - 1000000000);
        INSERT INTO "window" VALUES (1000000000, 0, {steps * step_ns}, NULL, {steps * step_ns},
          {steps * step_operations}, {steps * step_operations}, 0, 0);
        WITH RECURSIVE n(s) AS (SELECT 0 UNION ALL SELECT s + 1 FROM n WHERE s < {steps - 1})
          INSERT INTO copy SELECT 1000000000 + s * {step_ns}, 3000, 1, 3, 2, 4000000, 1, 34, NULL, 0 FROM n;
        INSERT INTO copy_device SELECT enter_ns, 8000, 160000, 1 FROM copy;
        INSERT INTO sync SELECT enter_ns + {step_ns} - 60000, 40000, 1, 3, 2, 1, 1, NULL, 0 FROM copy;
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {steps * per_step - 1})
          INSERT INTO launch SELECT 1000010000 + (i / {per_step}) * {step_ns} + (i % {per_step}) * 10000,
            4000, 1, CASE WHEN i % 10 = 9 THEN 2 ELSE 1 END,
            CASE WHEN i % {per_step} = {per_step - 1} THEN 29 ELSE 10 + (i % {per_step}) % 18 END,
            CASE WHEN {int(collectives)} AND i % 10 = 9 THEN i END, 0
          FROM n;
        INSERT INTO launch_device SELECT enter_ns,
          CASE WHEN stream_id = 2 THEN 400000 ELSE 180000 + (enter_ns % {step_ns}) / 10 END,
          CASE WHEN stream_id = 2 THEN 60000 ELSE 9000 END, 1 FROM launch;
        INSERT INTO ring_commit VALUES (1, {events}, NULL, 0, 0, {end_ns});
        COMMIT;""")
    if collectives:
        base.executescript(f"""
            BEGIN;
            INSERT INTO api VALUES (4, 'ncclAllReduce', 'ncclAllReduce', 'collective');
            INSERT INTO handle VALUES (5, 'communicator', 32, 0, NULL, NULL, 0, NULL);
            INSERT INTO communicator VALUES (1, 'made', 5, 0, {rank}, {ranks}, NULL);
            INSERT INTO collective SELECT enter_ns - 1000, 6000, 1, 2, 4, 1,
              row_number() OVER (ORDER BY enter_ns), 1000000, 7, 0, NULL, 4000000, group_id, 0
              FROM launch WHERE group_id NOTNULL;
            COMMIT;""")
    base.close()
    return events


def made_ranks(paths, launches, per_step=PER_STEP, collectives=False):
    """A trace of so many launches for each rank of one run. All that is in them but who they are is the same,
    so it is copied, which is quicker; kernels of collectives begin later on each rank than on the one before.
    """
    operations = make(paths[0], launches, 0, len(paths), per_step, collectives)
    for rank, path in enumerate(paths[1:], 1):
        shutil.copyfile(paths[0], path)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
            base.executescript(f"""
                UPDATE meta SET value = 'made-{rank}-{launches}' WHERE key = 'uuid';
                UPDATE process SET pid = {1 + rank}, rank = {rank}, local_rank = {rank};
                UPDATE device SET uuid = 'GPU-made-{rank}';
                UPDATE communicator SET rank = {rank};
                UPDATE launch_device SET start_offset_ns = start_offset_ns + {rank * LATER_NS},
                  dur_ns = dur_ns - {rank * LATER_NS} WHERE enter_ns IN (
                    SELECT enter_ns FROM launch WHERE group_id NOTNULL AND {int(collectives)});""")
    return operations * len(paths)
