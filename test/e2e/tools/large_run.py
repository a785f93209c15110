"""A run's database of about 100 MB, from that of a few ranks: a thousand ranks whose rows are theirs again;
in their typical step as many calls as there may be, in the worst as many as can be told apart."""
import contextlib
import sqlite3

KEPT = ("kept_step", "kept_call", "kept_text", "kept_track", "together_step")
MOST_KEPT = 20_000  # calls of a step
RANKS, STEPS, COPIES = 8, 60, 125  # that it is made from, and how often


def columns(base, table):
    return [row[1] for row in base.execute(f"PRAGMA table_info('{table}')")]


def copied(column, table, ranks, gpus):
    """What that column is in the k-th copy."""
    by_scope = f"CASE scope WHEN 'gpu' THEN id + k * {gpus} WHEN 'rank' THEN id + k * {ranks} ELSE id END"
    moved = {"rank_id": f"rank_id + k * {ranks}", "gpu_id": f"gpu_id + k * {gpus}",
             "comm_rank": f"comm_rank + k * {ranks}", "uuid": "uuid || '-' || k", "id": by_scope}
    if table == "rank":
        moved |= {"rank": f"rank + k * {ranks}", "pid": f"pid + k * {ranks}"}
    return moved.get(column, f'"{column}"')


def add_ranks(base, copies):
    (ranks,), = base.execute("SELECT count(*) FROM rank")
    (gpus,), = base.execute("SELECT count(*) FROM gpu")
    tables = [name for name, in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        there = columns(base, table)
        only = "WHERE scope IN ('gpu', 'rank')" if "scope" in there else ""
        if table in KEPT or not (only or {"rank_id", "gpu_id"} & set(there)):
            continue
        values = ", ".join(copied(column, table, ranks, gpus) for column in there)
        base.execute(f"INSERT INTO \"{table}\" WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n"
                     f" WHERE k < {copies - 1}) SELECT {values} FROM \"{table}\", n {only}")
    base.execute(f"UPDATE rank SET world_size = {ranks * copies}")
    base.execute(f"UPDATE run SET value = {ranks * copies} WHERE key IN ('traces', 'ranks_expected')")
    base.execute(f"UPDATE together_step SET of_ranks = {ranks * copies}")


def lengthen_names(base):
    """Kernels with names as templates have them, in ranges, from lines of Python."""
    base.execute("UPDATE kept_text SET text = text || printf('<%.100c>', 'T') WHERE id IN (SELECT what_id"
                 " FROM kept_call k WHERE k.rank_id = kept_text.rank_id AND kind = 'launch')")
    for number, column, text in ((90_000, "range_id", "aten::layer/"), (90_001, "line_id", "model.py:")):
        base.execute(f"INSERT INTO kept_text SELECT DISTINCT rank_id, {number},"
                     f" '{text}' || printf('%.100c', 'n') FROM kept_step")
        base.execute(f"UPDATE kept_call SET {column} = {number} WHERE kind = 'launch'")


def fill_kept_steps(base):
    """Each call of the typical step becomes many short ones, one after the other."""
    counted = base.execute("SELECT rank_id, step, count(*) FROM kept_call JOIN together_step t"
                           " USING (rank_id, step) WHERE t.why = 'typical' GROUP BY 1, 2").fetchall()
    for rank_id, step, count in counted:
        parts = MOST_KEPT // count
        short = {"nth": f"nth + k * {count}", "enter_ns": f"enter_ns + k * dur_ns / {parts}",
                 "start_ns": f"start_ns + k * ran_ns / {parts}", "ran_ns": f"ran_ns / {parts}",
                 "dur_ns": f"dur_ns / {parts}"}
        values = ", ".join(short.get(column, column) for column in columns(base, "kept_call"))
        of_step = f"rank_id = {rank_id} AND step = {step}"
        base.execute(f"INSERT INTO kept_call WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n"
                     f" WHERE k < {parts - 1}) SELECT {values} FROM kept_call, n WHERE {of_step}")
        base.execute(f"UPDATE kept_call SET ran_ns = ran_ns / {parts}, dur_ns = dur_ns / {parts}"
                     f" WHERE {of_step} AND nth < {count}")


def grow(run, copies=COPIES):
    with contextlib.closing(sqlite3.connect(run)) as base, base:
        lengthen_names(base)
        fill_kept_steps(base)
        add_ranks(base, copies)
