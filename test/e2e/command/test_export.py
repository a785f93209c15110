"""gpushim export chrome: what readers of such files need, nothing but what was recorded, and the same figures
when it is brought in again."""
import collections
import os
import subprocess

import box
import chrome_rules
import cli
import kineto_made
import made_traces
from exporting import Export, change, rows, without_own_cost


class Causes(Export):
    def held_to(self, name, devices, delta):
        trace = self.traced_workload(name, devices)
        without_own_cost(trace)
        self.gpushim("analyze", trace, "-o", self.folder / "run.db")
        self.exported(trace)
        self.gpushim("import", "kineto", self.folder / "out.json", "-o", self.folder / "again.db")
        # An export does not say how many multiprocessors the GPU has.
        sql = ("SELECT id, name, value FROM metric WHERE scope = 'gpu' AND name LIKE '%_share' AND "
               "name NOT IN ('run_busy_share', 'small_grid_share') ORDER BY 1, 2")
        first, second = (rows(self.folder / file, sql) for file in ("run.db", "again.db"))
        self.assertGreater(len(first), 10)
        self.assertEqual([row[:2] for row in first], [row[:2] for row in second])
        for (_, metric, value), (_, _, again) in zip(first, second):
            self.assertEqual(value is None, again is None, metric)
            self.assertAlmostEqual(value or 0, again or 0, delta=delta, msg=f"{name}: {metric}")


# By workload: GPUs, and how much shares may differ. The latency of a launch was calibrated in the first run
# and is estimated in the second, so what is launch-bound differs more.
CAUSES = {"input_cpu": (1, 1e-5), "input_wait": (1, 1e-5), "host_cpu": (1, 1e-5), "host_blocked": (1, 1e-5),
          "sync": (1, 1e-5), "sync_other_gpu": (2, 1e-5), "alloc_or_load": (1, 1e-5),
          "wait_other_gpu": (2, 1e-5), "wait_host_callback": (1, 1e-5), "copy_staging": (2, 1e-5),
          "launch_bound": (1, 5e-4)}


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
        self.assertIn("give a folder, or a name with %r", self.said.stderr)
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
        self.assertIn("end in .json", self.said.stderr)
        self.assertEqual(trace.read_bytes(), before)
        for words in (["export"], ["export", "chrome"], ["export", "pdf", trace, "-o", "a.json"]):
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
        self.assertIn("it has no kept steps", self.said.stderr)
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
        self.assertIn("of 54 operations only the calls are in the file", self.said.stderr)
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
