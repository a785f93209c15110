"""`gpushim report --fleet`: a fleet of hand-made rows, the questions of scripts/fleet asked of it by SQLite,
and what the report says. Five days of one run each; four GPUs on two hosts, one of them slow from day 3 on.

    own time of a step, ms     GPU-a-0   10 10 10 10 10        collectives take the rest of a step: all GPUs
                               GPU-a-1   10 10 10 10 10        have steps of the same length
                               GPU-b-0   10 10 10 10 10
                               GPU-b-1   10 10 20 20 20
"""
import json

from cli import Case
from made_fleet import MS, MadeFleet

DAYS = [f"2026-01-0{day}" for day in range(1, 6)]
GPUS = [("a", "GPU-a-0"), ("a", "GPU-a-1"), ("b", "GPU-b-0"), ("b", "GPU-b-1")]


class Fleet(Case):
    def setUp(self):
        super().setUp()
        self.fleet = MadeFleet()
        self.addCleanup(self.fleet.close)
        self.base = self.fleet.base
        for nth, day in enumerate(DAYS):
            own = [(*gpu, 20 if rank == 3 and nth >= 2 else 10) for rank, gpu in enumerate(GPUS)]
            self.fleet.add_run(nth, day, own, 20 if nth >= 2 else 10)

    def report(self, *words, expect=0):
        self.fleet.write(self.folder)
        return self.gpushim("report", "--fleet", self.folder, *words, expect=expect).stdout

    def answers(self):
        return json.loads(self.report("--json"))

    def test_idle_hours_by_cause(self):
        """20 GPUs for an hour each, a quarter of it idle, at 2.00 an hour."""
        causes = [(cause["cause"], cause["is_idle"], cause["gpu_hours"], cause["share"], cause["money"])
                  for cause in self.answers()["idle_by_cause"]]
        self.assertEqual(causes, [("input_wait", 1, 5, 0.25, 10), ("in collectives", 0, 4.5, 0.225, 9)])
        self.assertRegex(self.report(), r"in collectives \(busy\) +4.5 +22.50 % +9\n")

    def test_money_of_runs_of_which_one_has_no_price_is_not_known(self):
        self.base.execute("UPDATE fleet_run SET price_per_gpu_hour = NULL WHERE run = 'job-2'")
        self.assertEqual({cause["money"] for cause in self.answers()["idle_by_cause"]}, {None})

    def test_ranks_of_a_run_that_does_not_say_how_many_it_has(self):
        self.base.execute("UPDATE fleet_run SET ranks_expected = NULL WHERE run = 'job-4'")
        answers = self.answers()
        for name in ("idle_by_cause", "worst_gpus", "since_when", "compared_gpus"):
            self.assertEqual([(row["ranks_seen"], row["ranks_expected"]) for row in answers[name][:1]],
                             [(20, None)], name)
        self.assertEqual([(row["ranks_seen"], row["ranks_expected"]) for row in answers["trend"][-2:]],
                         [(4, 4), (4, None)])
        self.assertIn("1 runs do not say", self.report())

    def test_runs_of_other_sizes_are_another_series(self):
        """A large run on the last day, whose steps take longer, and one rank of the first day not seen."""
        self.fleet.add_run(9, DAYS[4], [(*gpu, 50) for gpu in GPUS * 2], 50)
        self.base.execute("UPDATE fleet_run SET ranks_seen = 3, gpus = 3 WHERE run = 'job-0'")
        self.assertEqual([(row["day"], row["ranks"], row["step_ns"]) for row in self.answers()["trend"]
                          if row["day"] in (DAYS[0], DAYS[4])],
                         [(DAYS[0], 4, 10 * MS), (DAYS[4], 4, 20 * MS), (DAYS[4], 8, 50 * MS)])
        change, = self.answers()["since_when"]
        self.assertEqual((change["since"], change["ratio"], change["ranks_seen"], change["ranks_expected"]),
                         (DAYS[2], 2, 19, 20))
        self.assertRegex(self.report(expect=0), r"llm +4 ranks, 2 x GPU +2026-01-03 .*19 of 20")

    def test_how_busy_gpus_were_is_weighted_by_their_hours(self):
        """One GPU of the last day was timed in a tenth of its time and is busy in all of that; of another
        nothing is known. The other two: three quarters."""
        self.base.execute("UPDATE v_gpu_total SET window_ns = window_ns / 10, busy_ns = window_ns / 10"
                          " WHERE gpu_id = 40000")
        self.base.execute("DELETE FROM v_gpu_total WHERE gpu_id = 40001")
        last = self.answers()["trend"][-1]
        self.assertAlmostEqual(last["busy_share"], (1 + 0.75 + 0.75) / 3)
        self.assertEqual(last["unknown_gpus"], 1)
        self.assertIn("busy without GPUs of which nothing is known: 1", self.report())

    def test_what_is_not_known_of_a_gpu_is_not_idle_and_not_busy(self):
        self.base.execute("DELETE FROM v_gpu_total WHERE gpu_id = 0")
        self.base.execute("UPDATE fleet_run SET price_per_gpu_hour = NULL")
        causes = {row["cause"]: row for row in self.answers()["idle_by_cause"] if row["is_idle"] != 0}
        self.assertEqual({name: row["gpu_hours"] for name, row in causes.items()},
                         {"input_wait": 4.75, "not known": 1})
        self.assertIsNone(causes["input_wait"]["money"])
        self.assertIn("a run has no price", self.report())
        hosts = {(row["host"], row["day"]): row["idle_share"] for row in self.answers()["hosts_by_day"]}
        self.assertEqual((hosts["a", DAYS[0]], hosts["a", DAYS[1]]), (None, 0.25))

    def test_the_gpu_that_is_slow_again_and_again(self):
        gpu, = self.answers()["worst_gpus"]
        self.assertEqual({name: gpu[name] for name in gpu if name != "mean_excess"},
                         {"host": "b", "uuid": "GPU-b-1", "runs": 5, "slow_runs": 3, "most_excess": 1,
                          "slow_since": DAYS[2], "slow_until": DAYS[4], "ranks_seen": 20,
                          "ranks_expected": 20})
        self.assertAlmostEqual(gpu["mean_excess"], 0.6)
        self.assertRegex(self.report(), r"b +GPU-b-1 +3 of 5 runs +60.0 % +2026-01-03 +2026-01-05")

    def test_stages_of_a_pipeline_are_not_compared(self):
        """A GPU that runs another set of kernels has other work."""
        self.base.execute("INSERT INTO kernel SELECT * FROM kernel WHERE gpu_id % 10000 = 3")
        self.assertEqual(self.answers()["worst_gpus"], [])
        self.assertIn("none; 0 of 20 GPUs of runs could be compared", self.report())

    def test_a_gpu_of_two_processes_was_slow_in_one_run(self):
        self.base.execute("UPDATE gpu SET uuid = 'GPU-b-1' WHERE uuid = 'GPU-b-0'")
        gpu, = self.answers()["worst_gpus"]
        self.assertEqual((gpu["runs"], gpu["slow_runs"]), (5, 3))

    def test_since_when_steps_take_longer(self):
        change, = self.answers()["since_when"]
        self.assertEqual((change["since"], change["before_ns"], change["after_ns"], change["ratio"]),
                         (DAYS[2], 10 * MS, 20 * MS, 2))

    def test_since_which_run_of_a_day_steps_take_longer(self):
        """Six runs of one day, named so that their names are in another order than their starts.

            hour   0  4  8 | 12 16 20
            step  10 10 10 | 20 20 20
        """
        for nth, hour in enumerate((20, 4, 12, 16, 8, 0)):
            own = [(*gpu, 10) for gpu in GPUS]
            self.fleet.add_run(20 + nth, DAYS[1], own, 20 if hour >= 12 else 10, hour)
        self.base.execute("UPDATE fleet_run SET model = 'other' WHERE run LIKE 'job-2_'")
        change, = [row for row in self.answers()["since_when"] if row["model"] == "other"]
        self.assertEqual((change["since"], change["since_run"], change["before_ns"], change["after_ns"]),
                         (DAYS[1], "job-22", 10 * MS, 20 * MS))
        self.assertEqual(change["since_started_ns"], 1_767_355_200 * 1_000_000_000)
        self.assertRegex(self.report(),
                         r"other +4 ranks, 2 x GPU +2026-01-02 12:00 +job-22 +10.0 ms +20.0 ms +2.00 ")

    def test_three_runs_are_too_few_to_say_since_when(self):
        self.base.execute("DELETE FROM fleet_run WHERE run IN ('job-0', 'job-4')")
        self.assertEqual(self.answers()["since_when"], [])
        self.assertIn("none; four runs or more of a model are compared", self.report())

    def test_what_nearly_changed_did_not(self):
        self.base.execute(f"UPDATE metric SET value = {10.4 * MS} WHERE value > {10 * MS}")
        self.assertEqual(self.answers()["since_when"], [])

    def test_what_was_not_seen_is_said_and_ends_with_3(self):
        self.base.execute("UPDATE fleet_run SET ranks_expected = 6 WHERE run = 'job-1'")
        self.fleet.row("coverage", day=DAYS[1], run="job-1", rank=4, ranks=2, state="missing",
                       why="ranks 4 to 5")
        text = self.report(expect=3)
        self.assertIn("20 of 22", text)
        self.assertRegex(text, r"missing +1 +2 +job-1: ranks 4 to 5")

    def test_the_example_of_a_state_is_one_of_its_rows(self):
        """The reason is of the file that is named, and not of another one."""
        for day, path, why in ((DAYS[0], "/z.db", "a hole"), (DAYS[0], "/b.db", "no end"),
                               (DAYS[1], "/a.db", "b")):
            self.fleet.row("coverage", day=day, run="job-0", path=path, state="damaged", why=why)
        self.fleet.row("coverage", day="unknown", run="unknown", path="/y.db", ranks=2, state="damaged",
                       why="x")
        damaged = [row for row in self.answers_of_3()["coverage_by_day"] if row["state"] == "damaged"]
        cells = ("row_count", "ranks", "unknown_ranks", "example_of", "example")
        self.assertEqual([tuple(row[cell] for cell in cells) for row in damaged],
                         [(2, None, 2, "/b.db", "no end"), (1, None, 1, "/a.db", "b"),
                          (1, 2, 0, "/y.db", "x")])
        self.assertRegex(self.report(expect=3), r"damaged +4 +2 or more +/b.db: no end\n")

    def answers_of_3(self):
        return json.loads(self.report("--json", expect=3))

    def test_what_leaves_no_figure_incomplete_ends_with_0(self):
        for state in ("duplicate", "not_ended", "mixed_versions", "shared_gpu", "same_run_id", "warned"):
            self.fleet.row("coverage", day=DAYS[0], run="job-0", path="/a.db", state=state)
        self.assertIn("mixed_versions", self.report())

    def test_the_map_says_which_hosts_it_does_not_show(self):
        self.fleet.add_run(9, DAYS[0], [(f"h{host}", f"GPU-{host}", 10) for host in range(130)], 10)
        page = self.folder / "fleet.html"
        self.report("--html", page)
        self.assertIn("128 of 132 hosts and the last 5 of 5 days are drawn", page.read_text(encoding="utf-8"))

    def test_the_page_has_a_map_of_hosts_and_days(self):
        page = self.folder / "fleet.html"
        self.report("--html", page)
        text = page.read_text(encoding="utf-8")
        for word in ("<svg", "GPU-b-1", DAYS[4], "input_wait"):
            self.assertIn(word, text)

    def test_a_gpu_of_many_runs_is_one_gpu(self):
        line = self.report().split("GPU-hours  days\n")[1].splitlines()[0]
        self.assertRegex(line, r"^ +5 +20 of 20 +4 +20 +2026-01-01 to 2026-01-05$")

    def test_names_cannot_break_out(self):
        self.base.execute("UPDATE rank SET host = '<b>\x1b[31m' WHERE host = 'b'")
        page = self.folder / "fleet.html"
        self.assertNotIn("\x1b", self.report("--html", page))
        self.assertNotIn("<b>", page.read_text(encoding="utf-8"))

    def test_a_folder_without_answers_is_refused(self):
        done = self.gpushim("report", "--fleet", self.folder, expect=2)
        self.assertIn("scripts/fleet/read", done.stderr)
        (self.folder / "fleet.db").write_text("something else", encoding="utf-8")
        self.gpushim("report", "--fleet", self.folder, expect=2)
