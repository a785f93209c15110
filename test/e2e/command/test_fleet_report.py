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
        cause, = self.answers()["idle_by_cause"]
        self.assertEqual((cause["cause"], cause["gpu_hours"], cause["share"], cause["money"]),
                         ("input_wait", 5, 0.25, 10))

    def test_what_is_not_known_of_a_gpu_is_not_idle_and_not_busy(self):
        self.base.execute("DELETE FROM v_gpu_total WHERE gpu_id = 0")
        self.base.execute("UPDATE fleet_run SET price_per_gpu_hour = NULL")
        causes = {row["cause"]: row for row in self.answers()["idle_by_cause"]}
        self.assertEqual({name: row["gpu_hours"] for name, row in causes.items()},
                         {"input_wait": 4.75, "not known": 1})
        self.assertIsNone(causes["input_wait"]["money"])
        self.assertIn("no price", self.report())
        hosts = {(row["host"], row["day"]): row["idle_share"] for row in self.answers()["hosts_by_day"]}
        self.assertEqual((hosts["a", DAYS[0]], hosts["a", DAYS[1]]), (None, 0.25))

    def test_the_gpu_that_is_slow_again_and_again(self):
        gpu, = self.answers()["worst_gpus"]
        self.assertEqual({name: gpu[name] for name in gpu if name != "mean_excess"},
                         {"host": "b", "uuid": "GPU-b-1", "runs": 5, "slow_runs": 3, "most_excess": 1,
                          "slow_since": DAYS[2], "slow_until": DAYS[4]})
        self.assertAlmostEqual(gpu["mean_excess"], 0.6)
        self.assertRegex(self.report(), r"b +GPU-b-1 +3 of 5 runs +60.0 % +2026-01-03 +2026-01-05")

    def test_stages_of_a_pipeline_are_not_compared(self):
        """A GPU that runs another set of kernels has other work."""
        self.base.execute("INSERT INTO kernel SELECT * FROM kernel WHERE gpu_id % 10000 = 3")
        self.assertEqual(self.answers()["worst_gpus"], [])

    def test_since_when_steps_take_longer(self):
        change, = self.answers()["since_when"]
        self.assertEqual((change["since"], change["before_ns"], change["after_ns"], change["ratio"]),
                         (DAYS[2], 10 * MS, 20 * MS, 2))

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
