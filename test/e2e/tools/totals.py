"""Totals two ways: as the views say them, from rollups, and added up from the rows."""
import sqlite3

RAN = "captured = 0 AND failed = 0 AND unfinished = 0"

# {what: (columns of the view, view, the same from rows)}
TOTALS = {
    "kernels": ("kernel, symbol, launches, call_sum_ns, call_min_ns, call_max_ns, device_sum_ns",
                "v_kernel_total",
                "SELECT coalesce(kernel, '(name not known)'), symbol, count(*), sum(dur_ns), min(dur_ns),"
                f" max(dur_ns), sum(device_dur_ns) FROM v_launch WHERE {RAN} GROUP BY 1, 2"),
    "copies": ("kind, device_id, device, stream_id, stream, source, target, blocking, copies, bytes,"
               " call_sum_ns, device_sum_ns", "v_copy_total",
               "SELECT kind, device_id, device, stream_id, stream, source, target, blocking, count(*),"
               f" sum(bytes), sum(dur_ns), sum(device_dur_ns) FROM v_copy WHERE {RAN}"
               " GROUP BY kind, device_id, stream_id, source, target, blocking"),
    "syncs": ("api, target_kind, rows, calls, sum_ns, max_ns", "v_sync_total",
              "SELECT api, target_kind, count(*), sum(calls), sum(dur_ns), max(dur_ns) FROM v_sync"
              " WHERE unfinished = 0 GROUP BY api, target_kind"),
    "collectives": ("communicator, ranks, api, dtype, op, bytes, calls, sum_bytes, call_sum_ns",
                    "v_collective_total",
                    "SELECT communicator, ranks, api, dtype, op, bytes, count(*), sum(bytes), sum(dur_ns)"
                    f" FROM v_collective WHERE {RAN} GROUP BY communicator, api, dtype, op, bytes"),
    "calls": ("api, calls, sum_ns, max_ns, failed", "v_api_total",
              "SELECT a.name, sum(v.calls), sum(v.dur_ns), max(v.dur_ns), sum((v.flags & 2) / 2)"
              " FROM v_all v JOIN api a ON a.id = v.api_id GROUP BY a.id"),
    "ran": ("kernel, symbol, launched, in_graphs", "v_kernel_executed",
            "SELECT coalesce(kernel, '(name not known)'), symbol, sum(launched), sum(in_graphs) FROM ("
            " SELECT kernel, symbol, 1 AS launched, 0 AS in_graphs FROM v_launch WHERE"
            f" {RAN} UNION ALL SELECT h.name, h.symbol, 0, k.count FROM graph_launch l"
            " JOIN graph_kernel k ON k.graph_id = l.graph_id LEFT JOIN v_handle h ON h.id = k.handle_id"
            " WHERE l.flags & 7 = 0) GROUP BY 1, 2"),
    "events": ("sum(events)", "v_series_total JOIN series ON id = series_id WHERE kind NOT LIKE '%_device'",
               "SELECT nullif((SELECT count(*) FROM v_all), 0)"),
}


def sorted_rows(rows):
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])


def both(trace):
    """{what: (from rollups, from rows)}, both of the same moment of a trace that may still be written."""
    base = sqlite3.connect(f"file:{trace}?mode=ro", uri=True, isolation_level=None)
    try:
        base.execute("BEGIN")
        return {what: tuple(sorted_rows(base.execute(sql).fetchall())
                            for sql in (f"SELECT {columns} FROM {view}", from_rows))
                for what, (columns, view, from_rows) in TOTALS.items()}
    finally:
        base.close()
