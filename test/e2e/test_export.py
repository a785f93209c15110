"""gpushim export chrome: what readers of such files need, nothing but what was recorded, and the same figures
when it is brought in again."""
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import box
import chrome_rules
import cli
import kineto_made
import made_traces
from exporting import KNOBS, STEPS, Export, change, rows, without_own_cost


class Trained(unittest.TestCase):
    """Two ranks of the training example."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-export-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        knobs = {**KNOBS, "GPUSIM_DEVICES": 2, "GPUSHIM_OUT": cls.folder / "traces" / "%r.db"}
        (cls.folder / "traces").mkdir()
        cls.must(["python3", cli.TRAIN, "--ranks", 2, "--steps", STEPS], knobs)
        cls.traces = [cls.folder / "traces" / f"{rank}.db" for rank in (0, 1)]
        for trace in cls.traces:
            without_own_cost(trace)
        cls.run_file, cls.again = cls.folder / "run.db", cls.folder / "again.db"
        cls.must([cli.GPUSHIM, "analyze", *cls.traces, "-o", cls.run_file])
        said = cls.must([cli.GPUSHIM, "export", "chrome", *cls.traces, "-o", f"{cls.folder}/out/"])
        cls.files = [pathlib.Path(line) for line in said.stdout.splitlines()]
        cls.must([cli.GPUSHIM, "import", "kineto", *cls.files, "-o", cls.again])
        cls.data = [chrome_rules.read(file) for file in cls.files]

    @classmethod
    def must(cls, words, knobs=None):
        done = box.run(words, knobs, sim=knobs is not None)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done

    def both(self, sql):
        first, second = rows(self.run_file, sql), rows(self.again, sql)
        self.assertTrue(first)
        return first, second

    def test_it_is_what_readers_need(self):
        self.assertEqual([file.name for file in self.files],
                         ["rank-0.pt.trace.json.gz", "rank-1.pt.trace.json.gz"])
        for data in self.data:
            self.assertEqual(list(chrome_rules.complaints(data)), [])

    def test_each_rank_says_who_it_is(self):
        for rank, (file, data) in enumerate(zip(self.files, self.data)):
            found = [re.search(r'"rank":\s+(\d+)', line)
                     for line in chrome_rules.read_text(file).splitlines()[:12]]
            self.assertEqual([int(match[1]) for match in found if match], [rank])
            self.assertEqual(data["distributedInfo"], {"backend": "nccl", "rank": rank, "world_size": 2})
            devices = rows(self.traces[rank], "SELECT name, memory_bytes FROM device ORDER BY id")
            self.assertEqual([(device["name"], device["totalGlobalMem"])
                              for device in data["deviceProperties"]], devices)

    def test_steps_and_streams_are_rows(self):
        for trace, data in zip(self.traces, self.data):
            steps = [event for event in chrome_rules.events(data, "X", "user_annotation")
                     if event["name"].startswith("ProfilerStep#")]
            marks = rows(trace, "SELECT count(*) FROM marker WHERE kind = 'step'")[0][0]
            self.assertEqual([step["name"] for step in steps],
                             [f"ProfilerStep#{number}" for number in range(marks - 1)])
            used = {(event["pid"], event["tid"]) for event in chrome_rules.events(data, "X", "kernel")}
            named = {(event["pid"], event["tid"]): event["args"]["name"]
                     for event in chrome_rules.events(data, "M") if event["name"] == "thread_name"}
            for row in used:
                self.assertTrue(named[row].startswith(f"stream {row[1]} ("))

    def test_every_operation_with_times_is_there_when_it_was(self):
        for trace, data in zip(self.traces, self.data):
            base = data["baseTimeNanoseconds"]
            offset = rows(trace, "SELECT real_minus_mono_ns FROM v_offset")[0][0]
            recorded = rows(trace, "SELECT device_start_ns, device_end_ns FROM v_operation WHERE "
                                   "device_start_ns IS NOT NULL ORDER BY 1, 2")
            there = sorted(chrome_rules.span(event)
                           for event in chrome_rules.events(data, "X", *chrome_rules.OPERATIONS))
            self.assertGreater(len(there), 1000)
            self.assertEqual([(start + base - offset, end + base - offset) for start, end in there], recorded)

    def test_collectives_have_the_profilers_arguments(self):
        for trace, data in zip(self.traces, self.data):
            asked = rows(trace, "SELECT DISTINCT c.count, c.bytes, c.ranks, c.rank FROM v_collective c JOIN "
                                "v_launch l USING (group_id) WHERE c.api = 'ncclAllReduce' AND "
                                "l.device_start_ns IS NOT NULL ORDER BY 1")
            keys = ("In msg nelems", "In msg size", "Group size", "Rank")
            told = {tuple(event["args"][key] for key in keys)
                    for event in chrome_rules.events(data, "X", "kernel")
                    if event["args"].get("Collective name") == "allreduce"}
            self.assertEqual(sorted(told), asked)
            self.assertEqual({event["args"]["dtype"] for event in chrome_rules.events(data, "X", "kernel")
                              if "dtype" in event["args"]}, {"Float"})

    def test_brought_in_again_it_says_the_same(self):
        for held in (self.same_kernels, self.same_shares, self.same_collectives, self.same_steps):
            with self.subTest(held.__name__):
                held()

    def same_kernels(self):
        first, second = self.both("SELECT g.rank_id, k.name, k.precision, k.sum_ns, k.union_ns "
                                  "FROM kernel k JOIN gpu g USING (gpu_id) WHERE k.sum_ns > 0 ORDER BY 1, 2")
        self.assertEqual(first, second)

    def same_shares(self):
        """Busy, by class, and idle by cause, of the steps that count."""
        first, second = self.both("SELECT m.id, m.name, m.value FROM metric m WHERE m.scope = 'gpu' AND "
                                  "m.name LIKE '%_share' AND m.name <> 'run_busy_share' ORDER BY 1, 2")
        self.assertEqual([row[:2] for row in first], [row[:2] for row in second])
        for (_, name, value), (_, _, again) in zip(first, second):
            self.assertEqual(value is None, again is None, name)
            self.assertAlmostEqual(value or 0, again or 0, delta=1e-4, msg=name)

    def same_collectives(self):
        first, second = self.both("SELECT op, dtype, bytes, ranks, count, transfer_p50_ns, wait_p50_ns, "
                                  "busbw_bytes_per_s FROM collective_stat WHERE transfer_p50_ns IS NOT NULL "
                                  "ORDER BY 1, 2, 3")
        self.assertEqual([row[:5] for row in first], [row[:5] for row in second])
        for one, again in zip(first, second):  # our events are out of the first: that is rounded
            for figure, other in zip(one[5:], again[5:]):
                self.assertAlmostEqual(figure or 0, other or 0, delta=max(5, 1e-3 * (figure or 0)))

    def same_steps(self):
        first, second = self.both("SELECT rank_id, number, dur_ns FROM step WHERE why IS NULL ORDER BY 1, 2")
        self.assertEqual(first, second)

    def test_of_a_run_the_kept_steps_are_drawn_and_it_says_so(self):
        out = self.folder / "kept"
        done = self.must([cli.GPUSHIM, "export", "chrome", self.run_file, "-o", f"{out}/"])
        self.assertRegex(done.stderr, r"of the whole run only step \d+ \(typical\) and step \d+ \(worst\)")
        for rank, whole in enumerate(self.data):
            data = chrome_rules.read(out / f"rank-{rank}.pt.trace.json.gz")
            self.assertEqual(list(chrome_rules.complaints(data)), [])
            self.assertIn("of the whole run only", data["exported"])
            kept = rows(self.run_file, "SELECT s.number, s.begin_ns, s.dur_ns FROM kept_step k JOIN step s "
                                       f"USING (rank_id, step) WHERE rank_id = {rank} ORDER BY 2")
            self.assertEqual(sorted(event["name"] for event in chrome_rules.events(data, "X",
                                                                                   "user_annotation")),
                             sorted(f"ProfilerStep#{number}" for number, _, _ in kept))
            offset = rows(self.traces[rank], "SELECT real_minus_mono_ns FROM v_offset")[0][0]
            spans = [(begin + offset, begin + length + offset) for _, begin, length in kept]
            self.assertEqual(launched(data, spans), launched(whole, spans))
            self.assertGreater(len(launched(data, spans)), 50)

    def test_the_typical_step_is_of_median_length_and_the_worst_the_longest(self):
        for rank in (0, 1):
            lengths = sorted(row[0] for row in rows(
                self.run_file, "SELECT s.dur_ns FROM step s JOIN gpu_step g USING (step) JOIN gpu u USING "
                               f"(gpu_id) WHERE u.rank_id = {rank} AND s.rank_id = {rank} AND warm_up = 0 "
                               "AND left_out = 0"))
            kept = dict(rows(self.run_file, "SELECT k.why, s.dur_ns FROM kept_step k JOIN step s USING "
                                            f"(rank_id, step) WHERE rank_id = {rank}"))
            self.assertEqual(kept, {"typical": lengths[(len(lengths) - 1) // 2], "worst": lengths[-1]})


def launched(data, spans):
    """What was launched in one of the spans: absolute times and names of calls, operations with arguments."""
    base = data["baseTimeNanoseconds"]
    calls = {event["args"]["correlation"]: event for event in chrome_rules.events(data, "X", "cuda_driver")
             if "correlation" in event.get("args", {})}
    found = []
    for event in chrome_rules.events(data, "X", *chrome_rules.OPERATIONS):
        call = calls[event["args"]["correlation"]]
        enter = chrome_rules.nanoseconds(call["ts"]) + base
        if any(begin <= enter < end for begin, end in spans):
            arguments = {key: value for key, value in event["args"].items() if key != "correlation"}
            found.append((enter, chrome_rules.nanoseconds(event["ts"]) + base, event["dur"], event["name"],
                          call["name"], json.dumps(arguments, default=str, sort_keys=True)))
    return sorted(found)


class Causes(Export):
    def held_to(self, name, devices, delta):
        trace = self.traced_workload(name, devices)
        without_own_cost(trace)
        self.gpushim("analyze", trace, "-o", self.folder / "run.db")
        self.exported(trace)
        self.gpushim("import", "kineto", self.folder / "out.json", "-o", self.folder / "again.db")
        sql = ("SELECT id, name, value FROM metric WHERE scope = 'gpu' AND name LIKE '%_share' AND "
               "name <> 'run_busy_share' ORDER BY 1, 2")
        first, second = (rows(self.folder / file, sql) for file in ("run.db", "again.db"))
        self.assertGreater(len(first), 10)
        self.assertEqual([row[:2] for row in first], [row[:2] for row in second])
        for (_, metric, value), (_, _, again) in zip(first, second):
            self.assertEqual(value is None, again is None, metric)
            self.assertAlmostEqual(value or 0, again or 0, delta=delta, msg=f"{name}: {metric}")


# By workload: GPUs, and how much shares may differ. The latency of a launch was calibrated in the first run
# and is estimated in the second, so what is launch-bound differs more.
CAUSES = {"input_cpu": (1, 1e-5), "input_wait": (1, 1e-5), "host_cpu": (1, 1e-5), "host_blocked": (1, 1e-5),
          "sync": (2, 1e-5), "alloc_or_load": (1, 1e-5), "wait_other_gpu": (2, 1e-5),
          "wait_host_callback": (1, 1e-5), "copy_staging": (2, 1e-5), "launch_bound": (1, 5e-4)}


def add_causes():
    for name, (devices, delta) in CAUSES.items():
        def case(self, name=name, devices=devices, delta=delta):
            self.held_to(name, devices, delta)
        setattr(Causes, f"test_{name}", case)


add_causes()


class Places(Export):
    def setUp(self):
        super().setUp()
        made_traces.make_run(self.folder / "traces", 2)

    def test_several_ranks_go_to_several_files(self):
        traces = self.folder / "traces"
        self.export(traces, expect=2)
        self.assertIn("give a folder, or %r", self.said.stderr)
        self.export(traces, to=self.folder / "a.%r.json")
        self.assertEqual(self.said.stdout.split(), [f"{self.folder}/a.{rank}.json" for rank in (0, 1)])
        (self.folder / "b").mkdir()
        self.export(traces, to=self.folder / "b")
        self.assertEqual(sorted(path.name for path in (self.folder / "b").iterdir()),
                         [f"rank-{rank}.pt.trace.json.gz" for rank in (0, 1)])

    def test_what_is_no_such_file_is_not_replaced(self):
        trace = next((self.folder / "traces").glob("*.db"))
        before = trace.read_bytes()
        self.export(trace, to=trace, expect=2)
        self.assertIn("ends in .json", self.said.stderr)
        self.assertEqual(trace.read_bytes(), before)
        for words in (["export"], ["export", "chrome", trace], ["export", "pdf", trace, "-o", "a.json"]):
            self.assertIn("gpushim export chrome", self.gpushim(*words, expect=2).stderr)
        self.export(trace, to=self.folder / "none" / "a.json", expect=3)

    def test_packed_it_is_the_same_and_again_the_same_bytes(self):
        trace = next((self.folder / "traces").glob("*.db"))
        plain = self.export(trace).read_bytes()
        self.assertEqual(chrome_rules.read_text(self.export(trace, to=self.folder / "a.json.gz")),
                         plain.decode())
        packed = (self.folder / "a.json.gz").read_bytes()
        self.assertEqual(self.export(trace, to=self.folder / "a.json.gz").read_bytes(), packed)
        self.assertLess(len(packed), len(plain) / 3)

    def test_a_file_that_cannot_be_read_is_named_and_the_others_are_taken(self):
        (self.folder / "traces" / "zzz.db").write_text("no trace", encoding="ascii")
        self.export(self.folder / "traces", to=self.folder / "a.%r.json", expect=3)
        self.assertIn("zzz.db", self.said.stderr)
        self.assertEqual(len(self.said.stdout.split()), 2)

    def test_a_run_without_steps_has_nothing_to_draw(self):
        self.gpushim("analyze", self.folder / "traces", "-o", self.folder / "run.db")
        self.export(self.folder / "run.db", expect=3)
        self.assertIn("no step of it was kept", self.said.stderr)
        self.assertFalse((self.folder / "out.json").exists())


class Recorded(Export):
    """Rows that are strange, lost or hostile."""

    def made(self, sql="", **options):
        trace = self.folder / "made.db"
        made_traces.make(trace, **options)
        made_traces.add_device_times(trace)
        change(trace, sql)
        return trace

    def test_calls_are_there_as_they_came(self):
        data = self.exported(self.made())
        calls = collections.Counter(event["name"] for event in chrome_rules.events(data, "X", "cuda_driver",
                                                                                   "nccl"))
        self.assertEqual(calls, {"cuLaunchKernel": 100, "cuMemcpyHtoD_v2": 4, "cuStreamSynchronize": 1,
                                 "cuStreamQuery": 1, "ncclAllReduce": 1, "cuMemAlloc_v2": 1})
        kernels = chrome_rules.events(data, "X", "kernel")
        self.assertEqual(len(kernels), 100)
        self.assertEqual(kernels[0]["args"],
                         {"device": 0, "context": 1, "stream": 0x55, "correlation": (1 << 20) + 1,
                          "grid": [1, 1, 1], "block": [256, 1, 1], "shared memory": 0})
        self.assertEqual(sum("estimated within ns" in event["args"] for event in kernels), 50)
        self.assertEqual([(event["args"]["Bytes"], event["args"]["Total Allocated"])
                          for event in chrome_rules.events(data, "i", "cpu_instant_event")],
                         [(1 << 30, 1 << 30)])

    def test_what_has_no_device_times_is_counted_and_said(self):
        data = self.exported(self.made("DELETE FROM launch_device WHERE enter_ns > 500000"))
        kernels = len(chrome_rules.events(data, "X", "kernel"))
        self.assertEqual(kernels, 50)
        self.assertEqual((data["operations"], data["operations_without_times"]), (50, 54))  # and the copies
        self.assertIn("of 54 operations only the calls are there", self.said.stderr)
        self.assertEqual(len(chrome_rules.events(data, "X", "cuda_driver")), 107)

    def test_calls_that_failed_were_captured_or_never_returned_ran_nothing(self):
        data = self.exported(self.made("UPDATE launch SET flags = 1 WHERE enter_ns = 2000;"
                                       "UPDATE launch SET flags = 2 WHERE enter_ns = 12000;"
                                       "UPDATE launch SET flags = 4, dur_ns = NULL WHERE enter_ns = 22000"))
        self.assertEqual(len(chrome_rules.events(data, "X", "kernel")), 97)
        calls = chrome_rules.events(data, "X", "cuda_driver")
        self.assertEqual([sum(key in event.get("args", {}) for event in calls)
                          for key in ("captured", "failed")], [1, 1])
        unfinished, = chrome_rules.events(data, "i", "cuda_driver")
        self.assertEqual((unfinished["name"], unfinished["args"]), ("cuLaunchKernel", {"unfinished": 1}))

    def test_ranges_that_cross_stand_beside_each_other(self):
        data = self.exported(self.made(
            "INSERT INTO name VALUES (10, 'outer', NULL), (11, 'other domain', NULL), (12, 'apart', NULL);"
            "INSERT INTO marker VALUES (3000, 1, 'push', 10, 0, NULL, NULL, NULL, NULL, 0),"
            " (3500, 1, 'range_start', 12, 7, NULL, NULL, NULL, NULL, 0),"
            " (5000, 1, 'push', 11, 0, 11, NULL, NULL, NULL, 0),"
            " (90000, 1, 'pop', 10, 0, NULL, NULL, NULL, 87000, 0),"
            " (99000, 1, 'pop', 11, 0, 11, NULL, NULL, 94000, 0),"
            " (99500, 1, 'range_end', 12, 7, NULL, NULL, NULL, 96000, 0),"
            " (99600, 1, 'push', 10, 0, NULL, NULL, NULL, NULL, 0),"
            " (99700, 1, 'mark', 12, NULL, NULL, NULL, NULL, NULL, 0)"))
        ranges = chrome_rules.events(data, "X", "user_annotation")
        self.assertEqual([(event["name"], chrome_rules.nanoseconds(event["dur"])) for event in ranges[:2]],
                         [("outer", 87000), ("other domain", 94000)])
        self.assertEqual(ranges[2]["args"], {"still open": 1})
        begin, = chrome_rules.events(data, "b")
        end, = chrome_rules.events(data, "e")
        self.assertEqual((begin["name"], end["ts"] - begin["ts"]), ("apart", 96))
        self.assertEqual([event["name"] for event in chrome_rules.events(data, "i", "mark")], ["apart"])

    def test_names_are_text_whatever_is_in_them(self):
        hostile = ['a"b\\c', "</script><script>alert(1)</script>", "line\nbreak\x01\x7f\u202e",
                   "=cmd|' /C calc'!A0", "x" * 65536, "\u00e9\u4e2d"]
        for name in hostile:
            with self.subTest(name[:40]):
                (self.folder / "made.db").unlink(missing_ok=True)
                data = self.exported(self.made(kernel=name, device=name))
                text = chrome_rules.read_text(self.folder / "out.json")
                self.assertNotIn("</script", text)
                self.assertNotIn("\x01", text)
                self.assertEqual({event["name"] for event in chrome_rules.events(data, "X", "kernel")},
                                 {name})
                self.assertEqual(data["deviceProperties"][0]["name"], name)

    def test_what_is_no_utf_8_is_replaced(self):
        data = self.exported(self.made("UPDATE name SET text = CAST(X'61FF62C3' AS TEXT);"
                                       "UPDATE api SET name = CAST(X'6375FE' AS TEXT) WHERE id = 1"))
        self.assertEqual({event["name"] for event in chrome_rules.events(data, "X", "kernel")},
                         {"a\ufffdb\ufffd"})
        self.assertIn("cu\ufffd", {event["name"] for event in chrome_rules.events(data, "X", "cuda_driver")})

    def test_a_trace_of_the_first_schema_has_its_calls(self):
        trace = self.folder / "old.db"
        made_traces.make(trace, schema=[box.ROOT / "test" / "golden" / "schema_1.sql"])
        data = self.exported(trace)
        self.assertEqual((data["operations"], data["operations_without_times"]), (0, 104))
        self.assertEqual(len(chrome_rules.events(data, "X", "cuda_driver", "nccl")), 108)

    def test_a_process_whose_number_is_a_gpus_is_told_apart(self):
        data = self.exported(self.made("UPDATE process SET pid = 0"))
        rows_of = {category: {event["pid"] for event in chrome_rules.events(data, "X", category)}
                   for category in ("kernel", "cuda_driver")}
        self.assertEqual(rows_of, {"kernel": {0}, "cuda_driver": {1_000_000_000}})

    def test_memory_does_not_grow_with_the_trace(self):
        more = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0}) "
                "INSERT INTO launch SELECT 100000000 + i * 10000, 4000, 1, 1, 1, NULL, 0 FROM n;"
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0}) "
                "INSERT INTO launch_device SELECT 100000000 + i * 10000, 8000, 5000, 1 FROM n;")
        most = []
        for count in (20_000, 200_000):
            (self.folder / "made.db").unlink(missing_ok=True)
            trace = self.made(more.format(count))
            words = [cli.GPUSHIM, "export", "chrome", trace, "-o", self.folder / "out.json.gz"]
            program = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(program.returncode, 0)
            most.append(usage.ru_maxrss)
        self.assertLess(most[1], 1.5 * most[0])


class Imported(Export):
    def test_a_launch_of_a_graph_is_one_operation(self):
        trace = self.traced_workload("graph", steps=30)
        data = self.exported(trace)
        graphs = [event for event in chrome_rules.events(data, "X", "kernel") if "kernels" in event["args"]]
        timed = rows(trace, "SELECT count(*) FROM v_graph_launch WHERE device_start_ns IS NOT NULL")[0][0]
        self.assertGreater(timed, 20)
        self.assertEqual([event["args"]["kernels"] for event in graphs], [100] * timed)
        self.gpushim("import", "kineto", self.folder / "out.json", "-o", self.folder / "again.db",
                     "--keep-traces", self.folder / "again")
        again = next((self.folder / "again").glob("*.db"))
        sql = "SELECT real_ns, dur_ns, device_start_ns - enter_ns, device_dur_ns FROM v_graph_launch"
        self.assertEqual(rows(trace, sql), rows(again, sql))

    def test_a_profilers_trace_comes_through_unchanged(self):
        """In, out and in again: all rows are the same but for where they came from."""
        path = kineto_made.made(5, 4).write(self.folder / "made.json.gz")
        self.gpushim("import", "kineto", path, "-o", self.folder / "a.db", "--keep-traces", self.folder / "a")
        trace = next((self.folder / "a").glob("*.db"))
        self.exported(trace)
        self.gpushim("import", "kineto", self.folder / "out.json", "-o", self.folder / "b.db",
                     "--keep-traces", self.folder / "b")
        again = next((self.folder / "b").glob("*.db"))
        for sql in ("SELECT real_ns, dur_ns, kernel, stream, grid_x, block_x, device_start_ns - enter_ns, "
                    "device_dur_ns FROM v_launch", "SELECT real_ns, dur_ns, kind, bytes, device_dur_ns FROM "
                    "v_copy", "SELECT api, count, bytes, dtype FROM v_collective",
                    "SELECT name, dur_ns, start_ns FROM v_range"):
            self.assertTrue(rows(trace, sql))
            self.assertEqual(rows(trace, sql), rows(again, sql))
        for view in ("compat_hta_temporal", "compat_hta_idle"):
            self.assertEqual(*(rows(self.folder / f"{run}.db", f"SELECT * FROM {view}") for run in "ab"))


if __name__ == "__main__":
    unittest.main()
