"""gpushim report: what it says, of what, and what it keeps to itself."""
import json
import sqlite3

import cli
import made_traces
import report_schema


class Report(cli.Case):
    def test_json_has_what_is_promised(self):
        made_traces.make_run(self.folder / "run", 2)
        answer = json.loads(self.gpushim("report", self.folder / "run", "--json").stdout)
        self.assertEqual(answer["schema"], 2)
        untold = ("unknown_abi", "not_ended", "why")
        ledger = {key: value for key, value in answer["ledger"].items() if key not in untold}
        self.assertEqual(ledger, {"produced": 234, "recorded": 234, "dropped": {}, "recovered": 0,
                                  "unfinished": 0, "unknown": 0, "placeless_operations": 0, "traces": 2,
                                  "ranks_seen": 2, "ranks_expected": 2})
        gpu = {"rank": 1, "gpu": "GPU-1", "name": "Simulated GPU", "simulated": True,
               "memory_total_bytes": 16 << 30}
        self.assertEqual(answer["gpus"][1], answer["gpus"][1] | gpu)
        launches = {call["api"]: call for call in answer["calls"]}["cuLaunchKernel"]
        self.assertEqual(launches, {"api": "cuLaunchKernel", "count": 200, "p50_ns": 4049, "p99_ns": 4098,
                                    "sum_ns": 2 * sum(range(4000, 4100))})
        self.assertEqual(answer["copies"][0]["host_bytes_per_s"], 1e9)
        self.assertEqual(answer["collectives"][0]["bytes"], 1_000_000)
        self.assertEqual(answer["memory"][0]["memory_peak_bytes"], 1 << 30)

    def test_a_key_that_the_schema_lacks_is_no_answer(self):
        """Every report in JSON that a test asks for is held to it (report_schema.py)."""
        made_traces.make_run(self.folder / "run", 2)
        answer = json.loads(self.gpushim("report", self.folder / "run", "--json").stdout)
        self.assertEqual(report_schema.complaints(answer), [])
        for wrong in ({**answer, "another": 1}, {**answer, "schema": 3},
                      {**answer, "ledger": {"produced": "1"}},
                      {key: value for key, value in answer.items() if key != "gpus"}):
            self.assertNotEqual(report_schema.complaints(wrong), [])
            with self.assertRaises(AssertionError):
                report_schema.hold(["gpushim", "report", "--json"], json.dumps(wrong))

    def test_each_schema_is_one(self):
        for command in report_schema.FILES:
            schema = report_schema.schema_of(command)
            report_schema.draft().check_schema(schema)
            with self.assertRaisesRegex(Exception, "'no_such_type' is not valid"):
                report_schema.draft().check_schema({**schema, "type": "no_such_type"})

    def test_losses_are_said_by_reason(self):
        made_traces.make_run(self.folder / "run", 1)
        with sqlite3.connect(self.folder / "run" / "gpushim.box.0.100.db") as base:
            base.execute("INSERT INTO \"drop\" VALUES (1, 'full', 5, 40), (1, 'full', 9, 1234),"
                         " (2, 'no_ring', 7, 1)")
        said = self.gpushim("report", self.folder / "run").stdout
        self.assertIn("1,352 produced = 117 recorded + 0 recovered + 1,235 dropped (full 1,234, no_ring 1) + "
                      "0 unfinished; unknown 0", " ".join(said.split()))

    def test_a_trace_without_an_end_is_told(self):
        made_traces.make_run(self.folder / "run", 2)
        for rank, how in enumerate(("no", "exit")):
            with sqlite3.connect(self.folder / "run" / f"gpushim.box.{rank}.{100 + rank}.db") as base:
                base.execute("INSERT OR REPLACE INTO meta VALUES ('ended', ?)", (how,))
            base.close()
        answer = self.gpushim("report", self.folder / "run", "--json")
        self.assertEqual(json.loads(answer.stdout)["ledger"]["not_ended"], 1)
        said = self.gpushim("report", self.folder / "run").stdout
        self.assertIn("; 1 trace has no end ", " ".join(said.split()))

    def test_only_what_is_simulated_is_called_so(self):
        made_traces.make_run(self.folder / "run", 1, device="NVIDIA H200")
        self.assertNotIn("SIMULATED", self.gpushim("report", self.folder / "run").stdout)

    def test_samples_that_were_thinned_stand_for_longer(self):
        trace = self.folder / "a.db"
        made_traces.make(trace)
        base = sqlite3.connect(trace)
        samples = [(second, 90) for second in range(1, 11)] + [(70, 30), (130, 30), (190, 30)]
        base.executemany("INSERT INTO nvml VALUES (? * 1000000000, 0, 'gpu_busy_percent', ?)", samples)
        base.commit()
        base.close()
        report = json.loads(self.gpushim("report", trace, "--json").stdout)
        # 69 s of 90 %, 121 s of 30 %
        self.assertEqual([device["nvml_busy_share"] for device in report["devices"]], [0.52])

    def test_a_second_report_is_the_same(self):
        self.traced(cli.LINKED)
        first, second = (self.gpushim("report", self.folder).stdout for _ in range(2))
        self.assertEqual(first, second)

    def test_a_hostile_name_stays_text(self):
        made_traces.make(self.folder / "a.db", kernel="\x1b]0;title\x07<script>`\n" + "x" * 5000)
        shown = self.gpushim("report", self.folder).stdout
        self.assertIn(r"\x1b]0;title\x07<script>", shown)
        self.assertLess(max(map(len, shown.splitlines())), 140)
        json.loads(self.gpushim("report", self.folder, "--json").stdout)

    def test_nothing_there(self):
        said = self.gpushim("report", self.folder, expect=2).stderr
        self.assertIn("gpushim doctor", said)
