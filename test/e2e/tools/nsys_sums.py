"""Tables of `nsys stats`, worked out from an export of Nsight Systems by their documented definitions: what
ours are compared with. Each is a dictionary from what a row is of to its figures."""
import collections
import re
import sqlite3
import statistics

KINDS = {1: "[CUDA memcpy Host-to-Device]", 2: "[CUDA memcpy Device-to-Host]",
         8: "[CUDA memcpy Device-to-Device]", 10: "[CUDA memcpy Peer-to-Peer]"}


def rows_of(path, sql):
    base = sqlite3.connect(path)
    try:
        return base.execute(sql).fetchall()
    finally:
        base.close()


def spread(values):
    """Avg, Med, Min, Max, StdDev."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return [statistics.mean(values), statistics.median(values), min(values), max(values), deviation]


def grouped(pairs):
    groups = collections.defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def times(pairs):
    """Total Time, how many, and the spread."""
    return {key: [sum(values), len(values), *spread(values)] for key, values in grouped(pairs).items()}


KERNELS = """SELECT s.value, k.end - k.start, k.gridX || ' ' || k.gridY || ' ' || k.gridZ,
  k.blockX || ' ' || k.blockY || ' ' || k.blockZ
FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName"""


def cuda_gpu_kern_sum(path):
    return times((name, ns) for name, ns, _, _ in rows_of(path, KERNELS))


def cuda_gpu_kern_gb_sum(path):
    return times(((name, grid, block), ns) for name, ns, grid, block in rows_of(path, KERNELS))


def memory_rows(path, what):
    copies = rows_of(path, f"SELECT copyKind, {what} FROM CUPTI_ACTIVITY_KIND_MEMCPY")
    has_sets = rows_of(path, "SELECT 1 FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MEMSET'")
    sets = rows_of(path, f"SELECT {what} FROM CUPTI_ACTIVITY_KIND_MEMSET") if has_sets else []
    return [(KINDS[kind], value) for kind, value in copies] + [("[CUDA memset]", value) for value, in sets]


def cuda_gpu_mem_time_sum(path):
    return times(memory_rows(path, "end - start"))


def cuda_gpu_mem_size_sum(path):
    """In MB."""
    return {key: [sum(values) / 1e6, len(values), *(figure / 1e6 for figure in spread(values))]
            for key, values in grouped(memory_rows(path, "bytes")).items()}


def without_version(name):
    return re.sub(r"_v\d{4,}$", "", name)


def cuda_api_sum(path):
    calls = rows_of(path, "SELECT s.value, r.end - r.start FROM CUPTI_ACTIVITY_KIND_RUNTIME r"
                          " JOIN StringIds s ON s.id = r.nameId")
    return times((without_version(name), ns) for name, ns in calls)


def cuda_kern_exec_sum(path):
    """Count, QCount, and the spreads of the total, the call's, the queue's and the kernel's time."""
    launches = rows_of(path, "SELECT a.value, k.value, r.start, r.end, d.start, d.end, r.globalTid"
                             " FROM CUPTI_ACTIVITY_KIND_KERNEL d JOIN CUPTI_ACTIVITY_KIND_RUNTIME r"
                             " ON r.correlationId = d.correlationId"
                             " AND r.globalTid / 0x1000000 = d.globalPid / 0x1000000"
                             " JOIN StringIds a ON a.id = r.nameId"
                             " JOIN StringIds k ON k.id = d.demangledName")
    found = {}
    by_kernel = grouped(((tid & 0xffffff, without_version(api), kernel), (begin, end, start, stop))
                        for api, kernel, begin, end, start, stop, tid in launches)
    for key, group in by_kernel.items():
        queued = [start - end for _, end, start, _ in group if start > end]
        found[key] = [len(group), len(queued),
                      *spread([max(stop, end) - begin for begin, end, _, stop in group]),
                      *spread([end - begin for begin, end, _, _ in group]),
                      *(spread(queued) if queued else [None] * 5),
                      *spread([stop - start for _, _, start, stop in group])]
    return found
