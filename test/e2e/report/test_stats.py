"""`gpushim stats`: the tables that nsys users type, beside the same figures worked out from nsys' own rows,
and of a program that the shim saw."""
import contextlib
import csv
import gzip
import io
import json
import os
import pathlib
import random
import sqlite3
import statistics
import unittest

import cli
import nsys_made
import nsys_sums
import optional
from pairs import pairs
import preload
import trained

SPREAD = ["Avg", "Med", "Min", "Max", "StdDev"]
OF_TIMES = [f"{name} (ns)" for name in SPREAD]
HEADINGS = {
    "cuda_gpu_kern_sum": ["Time (%)", "Total Time (ns)", "Instances", *OF_TIMES, "Name"],
    "cuda_gpu_kern_gb_sum": ["Time (%)", "Total Time (ns)", "Instances", *OF_TIMES, "GridXYZ", "BlockXYZ",
                             "Name"],
    "cuda_gpu_mem_time_sum": ["Time (%)", "Total Time (ns)", "Count", *OF_TIMES, "Operation"],
    "cuda_gpu_mem_size_sum": ["Total (MB)", "Count", *(f"{name} (MB)" for name in SPREAD), "Operation"],
    "cuda_api_sum": ["Time (%)", "Total Time (ns)", "Num Calls", *OF_TIMES, "Name"],
    "cuda_gpu_trace": ["Start (ns)", "Duration (ns)", "CorrId", "GrdX", "GrdY", "GrdZ", "BlkX", "BlkY",
                       "BlkZ", "Reg/Trd", "StcSMem (MB)", "DymSMem (MB)", "Bytes (MB)", "Throughput (MB/s)",
                       "SrcMemKd", "DstMemKd", "Device", "Ctx", "GreenCtx", "Strm", "Name"],
    "cuda_kern_exec_sum": ["PID", "TID", "DevId", "Count", "QCount",
                           *(f"{phase}{name} (ns)" for phase in "TAQK" for name in SPREAD), "API Name",
                           "Kernel Name"],
    "nvtx_gpu_proj_sum": ["Range", "Style", "Total Proj Time (ns)", "Total Range Time (ns)",
                          "Range Instances", *(f"Proj {name} (ns)" for name in SPREAD), "Total GPU Ops",
                          "Avg GPU Ops", "Avg Range Lvl", "Avg Num Child"],
    "cuda_memcpy_async": ["Duration (ns)", "Start (ns)", "Src Kind", "Dst Kind", "Bytes (MB)", "PID",
                          "Device ID", "Context ID", "Green Context ID", "Stream ID", "API Name"],
    "cuda_memset_sync": ["Duration (ns)", "Start (ns)", "Memory Kind", "Bytes (MB)", "PID", "Device ID",
                         "Context ID", "Green Context ID", "Stream ID", "API Name"],
    "cuda_api_sync": ["Duration (ns)", "Start (ns)", "PID", "TID", "API Name"],
    "gpu_time_util": ["In-Use (%)", "Duration (ns)", "Start (ns)", "PID", "Device ID", "Context ID"],
}
HEADINGS["cuda_memcpy_sync"] = HEADINGS["cuda_memcpy_async"]
SUMS = ["cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum",
        "cuda_api_sum", "cuda_kern_exec_sum"]
REAL = os.environ.get("GPUSHIM_REAL_TRACES")


def busy_program(path):
    """Two processes; kernels of two names in two shapes, copies and memsets, of times and sizes that differ;
    one launch in four returns after its kernel has begun; ranges in ranges around them."""
    chance = random.Random(1)
    export = nsys_made.Export(path, nsys_made.NEW)
    for pid in (100, 200):
        tid, process = nsys_made.global_pid(pid) | pid, nsys_made.global_pid(pid)
        where = {"deviceId": pid // 200, "contextId": 1, "globalPid": process, "streamId": 7}
        at = 1_000_000
        for i in range(60):
            took = chance.randrange(2000, 9000)
            begin = at + (took // 2 if i % 4 == 0 else took + chance.randrange(1, 90_000))
            end = begin + chance.randrange(5_000, 60_000)
            call = {"start": at, "end": at + took, "globalTid": tid, "correlationId": i + 1, "returnValue": 0}
            name = ("cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMemsetAsync_v3020")[i % 3]
            export.add("CUPTI_ACTIVITY_KIND_RUNTIME", nameId=export.text(name), **call)
            of_call = {"start": begin, "end": end, "correlationId": i + 1, **where}
            if i % 3 == 0:
                export.add("CUPTI_ACTIVITY_KIND_KERNEL", demangledName=export.text(f"kernel_{i % 2}"),
                           shortName=export.text("short"), gridX=1 + i % 5, gridY=2, gridZ=1, blockX=64,
                           blockY=1, blockZ=1, dynamicSharedMemory=4096, **of_call)
            elif i % 3 == 1:
                export.add("CUPTI_ACTIVITY_KIND_MEMCPY", bytes=chance.randrange(1, 9_000_000),
                           copyKind=(1, 2, 8)[i % 9 // 3], srcKind=1, dstKind=2, **of_call)
            else:
                export.add("CUPTI_ACTIVITY_KIND_MEMSET", bytes=chance.randrange(1, 90_000), **of_call)
            at += 100_000
        for i in range(20):
            for name, low, high in (("step", 0, 299_999), ("inner", 90_000, 250_000)):
                export.add("NVTX_EVENTS", start=990_000 + i * 300_000 + low, end=990_000 + i * 300_000 + high,
                           eventType=nsys_made.PUSH_POP, text=name, globalTid=tid)
        export.add("PROCESSES", globalPid=process, pid=pid, name="train.py")
        export.add("TARGET_INFO_GPU", id=pid // 200, name="Made GPU", uuid=f"GPU-{pid}", totalMemory=1 << 34)
        export.add("TARGET_INFO_CUDA_DEVICE", gpuId=pid // 200, cudaId=pid // 200, pid=pid)
    export.close()
    return path


class StatsCase(cli.Case):
    def stats(self, *words, expect=0):
        done = self.gpushim("stats", *words, expect=expect)
        return done.stdout, done.stderr

    def table(self, report, *inputs):
        text, _ = self.stats(report, "--format", "csv", *inputs)
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(text.splitlines()[0].split(","), HEADINGS[report])
        return rows

    def kept(self, export):
        folder = self.folder / f"kept.{export.stem}"
        self.gpushim("import", "nsys", export, "-o", self.folder / "run.db", "--keep-traces", folder)
        return folder

    def assert_as_nsys(self, report, export, traces):
        """Each row, to the digits that are printed."""
        rows = self.table(report, traces)
        left = getattr(nsys_sums, report)(export)
        digits = 3 if "size" in report else 1
        for row in rows:
            name = row.get("Name") or row.get("Operation") or row["Kernel Name"]
            key = {"cuda_gpu_kern_gb_sum": lambda: (name, " ".join(row["GridXYZ"].split()),
                                                    " ".join(row["BlockXYZ"].split())),
                   "cuda_kern_exec_sum": lambda: (int(row["TID"]), row["API Name"], name),
                   }.get(report, lambda: name)()
            figures = [value for heading, value in row.items()
                       if heading not in ("Time (%)", "PID", "TID", "DevId", "Name", "Operation", "API Name",
                                          "Kernel Name", "GridXYZ", "BlockXYZ")]
            expected = ["" if value is None else value for value in left.pop(key)]
            for ours, theirs in pairs(figures, expected):
                if theirs == "":
                    self.assertEqual(ours, "", (report, key))
                else:
                    self.assertAlmostEqual(float(ours), theirs, delta=0.51 * 10 ** -digits, msg=(report, key))
        self.assertEqual(left, {}, report)
        return rows


class AsNsys(StatsCase):
    def test_every_sum_is_that_of_its_own_rows(self):
        export = busy_program(self.folder / "made.sqlite")
        traces = self.kept(export)
        for report in SUMS:
            with self.subTest(report=report):
                rows = self.assert_as_nsys(report, export, traces)
                shares = [float(row["Time (%)"]) for row in rows if "Time (%)" in row]
                self.assertTrue(not shares or abs(sum(shares) - 100) < 0.1 * len(shares), shares)
        launches = self.table("cuda_kern_exec_sum", traces)
        self.assertEqual([sum(int(row[heading]) for row in launches) for heading in ("Count", "QCount")],
                         [40, 30], "a fourth began before their call returned")

    @unittest.skipUnless(REAL, optional.lacks("real_traces"))
    def test_of_real_programs_too(self):
        for packed in sorted(pathlib.Path(REAL, "nsys").glob("*.sqlite.gz")):
            export = self.folder / packed.name.removesuffix(".gz")
            export.write_bytes(gzip.decompress(packed.read_bytes()))
            traces = self.kept(export)
            for report in SUMS:
                with self.subTest(file=packed.name, report=report):
                    self.assert_as_nsys(report, export, traces)

    def test_a_range_is_projected_from_its_first_operation_to_its_last(self):
        """Three calls lie in a step, and two of them in the range inside."""
        export = busy_program(self.folder / "made.sqlite")
        operations = sorted(row for table in ("KERNEL", "MEMCPY", "MEMSET") for row in nsys_sums.rows_of(
            export, f"SELECT r.globalTid, r.start, d.start, d.end FROM CUPTI_ACTIVITY_KIND_{table} d"
                    " JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = d.correlationId"
                    " AND r.globalTid / 0x1000000 = d.globalPid / 0x1000000"))
        rows = {row["Range"]: row for row in self.table("nvtx_gpu_proj_sum", self.kept(export))}
        self.assertEqual(set(rows), {":step", ":inner"})
        for name, level, children, count in ((":step", 0, 1, 3), (":inner", 1, 0, 2)):
            spans = []
            for tid, start, end in nsys_sums.rows_of(
                    export, f"SELECT globalTid, start, end FROM NVTX_EVENTS WHERE text = '{name[1:]}'"):
                inside = [(first, last) for at, call, first, last in operations
                          if at == tid and start <= call <= end]
                self.assertEqual(len(inside), count)
                spans.append(max(last for _, last in inside) - min(first for first, _ in inside))
            row = rows[name]
            self.assertEqual((int(row["Total Proj Time (ns)"]), int(row["Range Instances"]), row["Style"]),
                             (sum(spans), 40, "PushPop"))
            self.assertAlmostEqual(float(row["Proj StdDev (ns)"]), statistics.stdev(spans), delta=0.1)
            self.assertEqual((int(row["Total GPU Ops"]), float(row["Avg GPU Ops"])), (40 * count, count))
            self.assertEqual((float(row["Avg Range Lvl"]), float(row["Avg Num Child"])), (level, children))

    def test_the_trace_is_every_operation_by_its_start(self):
        export = busy_program(self.folder / "made.sqlite")
        rows = self.table("cuda_gpu_trace", self.kept(export))
        self.assertEqual(len(rows), 120)
        starts = [int(row["Start (ns)"]) for row in rows]
        self.assertEqual(starts, sorted(starts))
        kernel = next(row for row in rows if row["Name"] == "kernel_0")
        self.assertEqual([kernel[heading] for heading in ("GrdX", "BlkX", "DymSMem (MB)", "Bytes (MB)")],
                         ["1", "64", "0.004", ""])
        copy = next(row for row in rows if "Host-to-Device" in row["Name"])
        self.assertAlmostEqual(float(copy["Throughput (MB/s)"]),
                               float(copy["Bytes (MB)"]) * 1e9 / int(copy["Duration (ns)"]), delta=200)
        self.assertEqual({row["Device"] for row in rows}, {"Made GPU (0) of process 100",
                                                           "Made GPU (1) of process 200"})


class Rules(StatsCase):
    """The rules of `nsys analyze`: what they are of is picked out again here, from the rows of the export."""

    def export(self):
        """Copies between all kinds of memory by both forms of call, small and large; memsets; two spans of
        work far apart, in which two operations run at the same time."""
        self.rows = []
        export = nsys_made.Export(self.folder / "made.sqlite", nsys_made.NEW)
        tid, process = nsys_made.global_pid(100) | 100, nsys_made.global_pid(100)
        where = {"deviceId": 0, "contextId": 1, "globalPid": process, "streamId": 7}
        sides = {0: "Pageable", 1: "Pinned", 2: "Device"}
        at = 1_000_000
        for i, (source, target, api, size) in enumerate(
                (source, target, api, size) for source in sides for target in sides
                for api in ("cudaMemcpy_v3020", "cudaMemcpyAsync_v3020") for size in (65_536, 65_537)):
            export.add("CUPTI_ACTIVITY_KIND_RUNTIME", nameId=export.text(api), start=at, end=at + 90_000,
                       globalTid=tid, correlationId=i + 1, returnValue=0)
            kind = 8 if source == target == 2 else 1 if target == 2 else 2 if source == 2 else 4
            took = 20_000 + 100 * i
            export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=at + 5000, end=at + 5000 + took, bytes=size,
                       copyKind=kind, srcKind=source, dstKind=target, correlationId=i + 1, **where)
            self.rows.append((took, sides[source], sides[target], size, api.removesuffix("_v3020")))
            at += 100_000
        for i, api in enumerate(("cudaMemset_v3020", "cudaMemsetAsync_v3020", "cudaDeviceSynchronize_v3020",
                                 "cudaStreamQuery_v3020")):
            export.add("CUPTI_ACTIVITY_KIND_RUNTIME", nameId=export.text(api), start=at, end=at + 50_000 + i,
                       globalTid=tid, correlationId=100 + i, returnValue=0)
            if "Memset" in api:
                export.add("CUPTI_ACTIVITY_KIND_MEMSET", start=at + 1, end=at + 3_001, bytes=4096 + i,
                           correlationId=100 + i, **where)
            at += 100_000
        export.add("CUPTI_ACTIVITY_KIND_KERNEL", demangledName=export.text("late"), start=at + 2_000_000,
                   end=at + 3_000_000, correlationId=999, **where)
        export.add("CUPTI_ACTIVITY_KIND_KERNEL", demangledName=export.text("beside"), start=at + 2_100_000,
                   end=at + 2_900_000, correlationId=998, **where)
        export.add("PROCESSES", globalPid=process, pid=100, name="train.py")
        export.close()
        return self.kept(self.folder / "made.sqlite")

    def test_copies_that_block(self):
        traces = self.export()
        blocks = [row for row in self.rows if row[4] == "cudaMemcpy" and row[1:3] != ("Device", "Device")
                  and (row[2] != "Device" or row[3] > 65_536)]
        staged = [row for row in self.rows if row[4] == "cudaMemcpyAsync" and "Pageable" in row[1:3]]
        self.assertEqual((len(blocks), len(staged)), (14, 10))
        for report, expected in (("cuda_memcpy_sync", blocks), ("cuda_memcpy_async", staged)):
            rows = [(int(row["Duration (ns)"]), row["Src Kind"], row["Dst Kind"],
                     round(float(row["Bytes (MB)"]) * 1e6), row["API Name"])
                    for row in self.table(report, traces)]
            self.assertEqual(rows, [(*row[:3], round(row[3], -3), row[4])
                                    for row in sorted(expected, reverse=True)], report)

    def test_memsets_and_waits(self):
        traces = self.export()
        sets = self.table("cuda_memset_sync", traces)
        self.assertEqual([(row["API Name"], row["Memory Kind"]) for row in sets], [("cudaMemset", "")])
        self.assertIn("which memory a memset writes is not recorded",
                      self.stats("cuda_memset_sync", traces)[1])
        waits = self.table("cuda_api_sync", traces)
        self.assertEqual([(row["API Name"], row["Duration (ns)"], row["PID"]) for row in waits],
                         [("cudaDeviceSynchronize", "50002", "100")])

    def test_spans_of_little_use(self):
        """By its own sweep: each thirtieth, the nanoseconds in which anything ran."""
        traces = self.export()
        ran = nsys_sums.rows_of(self.folder / "made.sqlite", " UNION ALL ".join(
            f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{table}"
            for table in ("KERNEL", "MEMCPY", "MEMSET")))
        low, high = min(start for start, _ in ran), max(end for _, end in ran)
        edges = [low + (high - low) * i // 30 for i in range(31)]
        expected = []
        for left, right in zip(edges, edges[1:]):
            used, reached = 0, left
            for start, end in sorted(ran):
                used += max(0, min(end, right) - max(start, reached))
                reached = max(reached, min(end, right))
            if used * 2 < right - left:
                expected.append((round(used * 100 / (right - left), 1), right - left))
        self.assertIn(len(expected), range(20, 29), "all but those of the kernels")
        rows = [(float(row["In-Use (%)"]), int(row["Duration (ns)"]))
                for row in self.table("gpu_time_util", traces)]
        self.assertEqual(sorted(rows), sorted(expected))
        self.assertEqual([share for share, _ in rows], sorted(share for share, _ in rows))

    def test_what_was_not_timed_is_not_called_unused(self):
        trained.train(self.folder / "t", 1, steps=8, knobs={"GPUSHIM_BUDGET": "100%"})
        trace = self.folder / "t" / "0.db"
        first, last = preload.query(trace, "SELECT min(enter_ns), max(enter_ns) FROM launch")[0]
        third = (last - first) // 3
        with contextlib.closing(sqlite3.connect(trace)) as base, base:
            base.execute("DELETE FROM launch_device WHERE enter_ns BETWEEN ? AND ?",
                         (first + third, first + 2 * third))
        rows = self.table("gpu_time_util", trace)
        unknown = [row for row in rows if row["In-Use (%)"] == ""]
        self.assertGreater(len(unknown), 3)
        self.assertEqual(rows[-len(unknown):], unknown)


class OfOurTraces(StatsCase):
    def test_kernels_of_a_program_that_ran(self):
        trained.train(self.folder / "t", 2, steps=8)
        traces = sorted((self.folder / "t").glob("*.db"))
        by_name = {}
        for trace in traces:
            for name, ns in preload.query(trace, "SELECT kernel, device_dur_ns FROM v_launch"
                                                 " WHERE device_dur_ns IS NOT NULL"):
                by_name.setdefault(name, []).append(ns)
        rows = self.table("cuda_gpu_kern_sum", *traces)
        self.assertEqual([row["Name"] for row in rows],
                         sorted(by_name, key=lambda name: (-sum(by_name[name]), name)))
        for row in rows:
            values = by_name[row["Name"]]
            self.assertEqual((int(row["Total Time (ns)"]), int(row["Instances"])), (sum(values), len(values)))
            self.assertAlmostEqual(float(row["Med (ns)"]), statistics.median(values), delta=0.06)

    def test_what_was_not_timed_is_said_and_not_in_it(self):
        trained.train(self.folder / "t", 1, steps=8, knobs={"GPUSHIM_DEVICE_TIME": "off"})
        text, said = self.stats("cuda_gpu_kern_sum", self.folder / "t" / "0.db")
        self.assertEqual(len(text.splitlines()), 1)
        launched = preload.query(self.folder / "t" / "0.db", "SELECT count(*) FROM v_operation")[0][0]
        self.assertRegex(said, rf"{launched:,}.* of {launched:,}.* operations have no device times")

    def test_formats(self):
        trained.train(self.folder / "t", 1, steps=4)
        trace = self.folder / "t" / "0.db"
        one = json.loads(self.stats("cuda_api_sum", trace, "--format", "json")[0])
        self.assertEqual(list(one[0]), HEADINGS["cuda_api_sum"])
        several = json.loads(self.stats(trace, "--format", "json")[0])
        self.assertEqual(set(several), {name for name in HEADINGS if name.endswith("_sum")})
        self.assertEqual(several["cuda_api_sum"], one)
        banners = [line for line in self.stats(trace)[0].splitlines() if line.startswith(" ** ")]
        self.assertEqual(len(banners), len(several))
        self.assertIn(" ** CUDA API Summary (cuda_api_sum):", banners)

    def test_a_run_alone_has_sums(self):
        """What it holds is the same, to what a percentile of a histogram tells; what it does not is said."""
        export = busy_program(self.folder / "made.sqlite")
        traces = self.kept(export)
        for report in ("cuda_gpu_kern_sum", "cuda_gpu_mem_size_sum"):
            ours, whole = (self.table(report, source) for source in (self.folder / "run.db", traces))
            self.assertEqual([row.popitem() for row in ours], [row.popitem() for row in whole])
            for row, other in pairs(ours, whole):
                for heading in set(row) - {"Med (ns)", "Med (MB)"}:
                    self.assertAlmostEqual(float(row[heading]), float(other[heading]), delta=0.06)
        text, said = self.stats("cuda_gpu_trace", self.folder / "run.db", expect=3)
        self.assertEqual(text, "")
        self.assertIn("does not hold cuda_gpu_trace: give the folder of its traces", said)

    def test_mistakes_are_told(self):
        self.assertIn("cuda_gpu_kern_sum", self.stats("cuda_gpu_kernel_sum", expect=2)[1])
        self.assertIn("table, csv or json", self.stats("--format", "xml", expect=2)[1])
