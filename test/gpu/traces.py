"""What the GPU check wants to know of a trace."""
import sqlite3

from judging import demand, same

# What is said for what it is, and is no fault: a device that was never calibrated, and what gets no events of
# ours so that the program does what it does without us.
NOTES = ("bounds of device times are estimates", "the program measures", "programmatic launches",
         "streams share")

OPERATIONS = ("launch", "copy", "memset", "graph_launch")
RAN = " UNION ALL ".join(f"SELECT stream_id FROM {table} WHERE flags & 7 = 0" for table in OPERATIONS)
PLACELESS = f"SELECT count(*) FROM ({RAN}) o LEFT JOIN v_stream s ON s.id = o.stream_id" \
    " WHERE s.device IS NULL"


def demand_places(base):
    """Of every operation that ran it is known on which GPU: else its counts are right, and no report knows
    what to do with them."""
    same(base.execute(PLACELESS).fetchone()[0], 0, "operations on no GPU that is known")


class Trace:
    """Read before its folder goes."""

    def __init__(self, path):
        base = sqlite3.connect(path)
        rows = lambda sql: base.execute(sql).fetchall()  # noqa: E731
        demand_places(base)
        self.kernels = dict(rows("SELECT kernel, sum(launches) FROM v_kernel_total GROUP BY kernel"))
        self.executed, = rows("SELECT total(executed) FROM v_kernel_executed")[0]  # with those in graphs
        self.copies = {kind: (count, size) for kind, count, size in rows(
            "SELECT kind, sum(copies), sum(bytes) FROM v_copy_total GROUP BY kind")}
        self.calls = dict(rows("SELECT api, calls FROM v_api_total"))
        self.memsets = rows("SELECT count(*), sum(bytes) FROM memset WHERE flags & 7 = 0")[0]
        self.collectives = dict(rows("SELECT api, sum(calls) FROM v_collective_total GROUP BY api"))
        self.products = rows("SELECT api, count(*), min(m), min(n), min(k), total(flops) FROM v_gemm"
                             " GROUP BY api ORDER BY api")
        self.recorded, self.dropped, self.unknown = rows("SELECT recorded, dropped, unknown FROM v_ledger")[0]
        self.operations, self.timed = rows("SELECT total(operations), total(timed) FROM window")[0]
        (self.timed_launches, self.queued, self.likely_ns), = rows(
            "SELECT count(*), total(e.queued), max(e.likely_ns) FROM launch_device d "
            "JOIN level_error e ON e.id = d.level_error_id")
        self.timed_share = self.timed_launches / max(sum(self.kernels.values()), 1)
        self.measured, = rows("SELECT coalesce(sum(value), 0) FROM meta WHERE key = 'untimed_measured'")[0]
        said = rows("SELECT api, error, why FROM refusal")
        self.refusals = [row for row in said if not row[2].startswith(NOTES)]
        # The newest that is known of each.
        self.clock = {name: next((value for value, in rows(
            f"SELECT {name} FROM device_clock WHERE {name} NOT NULL ORDER BY mono_ns DESC LIMIT 1")), None)
            for name in ("error_ns", "event_ns", "record_ns", "latency_ns", "latency_spread_ns")}
        self.cost = dict(zip(("span_ns", "busiest_ns", "writer_cpu_ns"), rows(
            "SELECT total(span_ns), total(busiest_ns), total(writer_cpu_ns) FROM cost")[0]))
        self._read(rows)
        base.close()

    def _read(self, rows):
        """What a row wants besides."""

    def demand_whole(self):
        demand(self.recorded > 0, "nothing was recorded")
        same((self.dropped, self.unknown), (0, 0), "dropped and unknown events")


def one(traces):
    same(len(traces), 1, "traces")
    traces[0].demand_whole()
    return traces[0]
