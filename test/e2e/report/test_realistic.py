"""Data-parallel training whose collectives run beside compute (examples/train): what is said of a rank that
is slow is what the same job takes less without it, and nothing is said that one rank alone cannot know."""
import contextlib
import ctypes
import shutil
import sqlite3
import sys
import unittest

import box
import cli
import in_memory
import trained

REALISTIC = box.ROOT / "test" / "realistic"
sys.path.insert(0, str(REALISTIC))
import ended  # noqa: E402
import true_shares  # noqa: E402

WITHIN = 0.05  # of the difference of two runs


class Straggler(cli.Case):
    def check_cost(self, ranks, slow, factor, *options):
        slowed, alike = (self.folder / name for name in ("slowed", "alike"))
        trained.train(slowed, ranks, *options, knobs={"GPUSIM_SLOW": f"{slow}:{factor}"})
        trained.train(alike, ranks, *options)
        cost_ns = trained.true_step_ns(slowed) - trained.true_step_ns(alike)
        text, said = trained.report(slowed)
        straggler = said["skew"]["straggler"]
        self.assertEqual((straggler["rank"], straggler["cause"]), (slow, "compute"), text)
        self.assertAlmostEqual(straggler["time_saved_per_step_ns"] / cost_ns, 1, delta=WITHIN, msg=text)

    def test_what_is_computed_beside_collectives_is_counted_once(self):
        self.check_cost(4, 2, 1.4)

    def test_many_small_collectives_in_flight(self):
        self.check_cost(3, 0, 1.5, "--bucket-mb", "0.5")

    def test_without_overlap(self):
        self.check_cost(2, 1, 1.2, "--no-overlap")

    def test_without_it_the_input_would_hold_the_job_back(self):
        """Loading takes nearly as long as the kernels: of 1 ms that they take longer 0.8 are the job's."""
        self.check_cost(2, 1, 1.23, "--slow-input", "3.0")


class Unmarked(cli.Case):
    """Nobody says where steps begin, and every n-th is longer."""

    def check(self, *options, **knobs):
        marked, unmarked = (self.folder / name for name in ("marked", "unmarked"))
        trained.train(marked, 2, *options, steps=100, knobs=knobs)
        trained.train(unmarked, 2, "--unmarked", *options, steps=100, knobs=knobs)
        text, said = trained.report(unmarked)
        told = trained.report(marked)[1]["steps"]
        found = said["steps"]
        self.assertEqual((found["source"], found["count"], found["left_out"]), ("detected", 99, 1), text)
        self.assertAlmostEqual(found["median_ns"] / told["median_ns"], 1, delta=0.02, msg=text)

    def test_the_loss_is_read_every_twentieth_step(self):
        self.check()

    def test_it_is_read_often_and_durations_vary(self):
        self.check("--loss-every", "7", GPUSIM_JITTER="0.05", GPUSIM_SEED="3")

    def test_many_small_copies_and_collectives(self):
        self.check("--bucket-mb", "1")


def leave_out_device_times(trace, behind_share):
    """As where a process ends before the times of its last operations have come."""
    with contextlib.closing(sqlite3.connect(trace)) as base, base:
        count = base.execute("SELECT count(*) FROM launch_device").fetchone()[0]
        base.execute("DELETE FROM launch_device WHERE enter_ns IN (SELECT enter_ns FROM launch_device"
                     " ORDER BY enter_ns DESC LIMIT ?)", (int(count * behind_share),))


class Untimed(cli.Case):
    def test_steps_whose_operations_have_no_device_times_are_not_timed(self):
        run = self.folder / "run"
        trained.train(run, 2, steps=60)
        _, whole = trained.report(run)
        for trace in run.glob("[01].db"):
            leave_out_device_times(trace, 0.05)
        text, said = trained.report(run)
        for gpu, usual in zip(said["gpus"], whole["gpus"]):
            self.assertLess(gpu["steps"], usual["steps"], text)
            self.assertAlmostEqual(gpu["idle_share"], usual["idle_share"], delta=0.002, msg=text)


    def test_other_tools_figures_say_what_they_are_of(self):
        """Of a few operations in a thousand without times, which is usual, and of one in twenty."""
        view = "SELECT idle_share, compute_share, timed_share, why FROM compat_hta_temporal"
        run = self.folder / "run"
        trained.train(run, 1)
        said = [self.asked(run, view)]
        for share in (0.004, 0.05):
            leave_out_device_times(run / "0.db", share)
            said.append(self.asked(run, view))
        whole, most, too_few = said
        self.assertAlmostEqual(most[0], whole[0], delta=0.005)
        self.assertAlmostEqual(most[1], whole[1], delta=0.005)
        for _, _, timed, why in (whole, most):
            self.assertTrue(0.99 < timed < 1 and why is None, said)
        self.assertEqual(too_few[:2], (None, None))
        self.assertRegex(too_few[3], r"^\d+ of \d+ operations have no device times$")

    @staticmethod
    def asked(run, sql):
        (run / "gpushim.run.db").unlink(missing_ok=True)
        trained.report(run)
        with contextlib.closing(sqlite3.connect(run / "gpushim.run.db")) as base:
            return base.execute(sql).fetchone()


class Alone(cli.Case):
    """One of two ranks: how long its collectives waited for the other cannot be told from them."""

    def test_waits_are_not_known_and_what_is_known_adds_up(self):
        run = self.folder / "run"
        trained.train(run, 2, knobs={"GPUSIM_SLOW": "1:1.4"})
        both = trained.report(run)[1]["gpus"][0]
        text, said = trained.report(run / "0.db")
        gpu = said["gpus"][0]
        for name in ("waiting_for_peer_share", "exposed_comm_share"):
            self.assertIsNone(gpu[name], text)
            self.assertIn("of 2 ranks 1", gpu["why"])
        self.assertIsNone(said["allreduce_check"]["measured_ns"], text)
        self.assertIn("not known", text)
        for name in ("productive_share", "memory_share", "idle_share"):
            self.assertAlmostEqual(gpu[name], both[name], delta=0.002, msg=text)


class Shares(cli.Case):
    PARTS = ("productive", "waiting_for_peer", "exposed_comm", "memory", "idle")

    def test_copies_are_memory_and_the_five_parts_add_up(self):
        run = self.folder / "run"
        trained.train(run, 2, "--pageable", "--input-mb", "60", "--no-overlap")
        text, said = trained.report("--all", run)
        for gpu in said["gpus"]:
            parts = {part: gpu[f"{part}_share"] for part in self.PARTS}
            self.assertAlmostEqual(sum(parts.values()), 1, places=9, msg=text)
            self.assertGreater(parts["memory"], 0.5, text)  # 10 ms of copies beside 4 of kernels
            self.assertLess(parts["productive"], 0.45, text)
        self.assertRegex(text, r"SHARES +productive [\d.]+ \+ waiting for peers")


class PartOfTheRun(cli.Case):
    """Figures of a step are of the steps that were recorded, not of all that were marked."""

    def check(self, said, whole, text, steps):
        self.assertEqual(said["steps"]["count"], steps, text)
        for gpu, usual in zip(said["gpus"], whole["gpus"]):
            self.assertAlmostEqual(gpu["idle_share"], usual["idle_share"], delta=0.005, msg=text)
            # What ran while nothing was recorded may be anything.
            self.assertLessEqual(gpu["run_busy_share_low"], usual["run_busy_share"], text)
            self.assertGreaterEqual(gpu["run_busy_share_high"], usual["run_busy_share"], text)
            self.assertGreaterEqual(gpu["run_busy_share_likely_high"], usual["run_busy_share"], text)
        self.assertAlmostEqual(said["allreduce_check"]["bytes_per_step"],
                               whole["allreduce_check"]["bytes_per_step"], delta=1e5, msg=text)
        self.assertRegex(text, r"LAUNCH +44/step, call 4.00 us, none found the GPU empty")
        self.assertRegex(text, r"h2d 4\.[0-2]\d MB/step")
        usual_ns = {kernel["name"]: kernel["per_step_ns"] for kernel in whole["kernels"]}
        for kernel in said["kernels"]:
            if kernel["name"].startswith("gemm"):
                self.assertAlmostEqual(kernel["per_step_ns"] / usual_ns[kernel["name"]], 1, delta=0.03,
                                       msg=text)

    def recorded(self, **variables):
        run, all_of_it = self.folder / "run", self.folder / "all"
        trained.train(run, 2, steps=60, knobs=variables)
        trained.train(all_of_it, 2, steps=60)
        text, said = trained.report(run)
        return text, said, trained.report(all_of_it)[1]

    def test_a_range_of_steps(self):
        text, said, whole = self.recorded(GPUSHIM_STEPS="22:40")
        self.check(said, whole, text, 19)
        self.assertIn("(19; 41 left out", text)
        # What filled the pipeline before the first mark is of no step that was asked for.
        self.assertRegex(text, r"h2d 4\.00 MB/step")
        self.assertTrue(any(copy["per_step"] == 1 for copy in said["copies"] if copy["kind"] == "h2d"), said)

    def test_a_schedule(self):
        text, said, whole = self.recorded(GPUSHIM_SCHEDULE="5:2:6:0")
        self.check(said, whole, text, 24)


class SmallTrace(cli.Case):
    """More rows than there is room for: those in windows are kept longest."""

    def test_the_busy_share_is_known(self):
        run, usual = self.folder / "run", self.folder / "usual"
        trained.train(run, 1, steps=700, knobs={"GPUSHIM_MAX_MB": "2", "GPUSHIM_BUDGET": "1%"})
        trained.train(usual, 1, steps=60)
        text, said = trained.report(run)
        whole = trained.report(usual)[1]["gpus"][0]
        with contextlib.closing(sqlite3.connect(run / "0.db")) as base:
            kept, every = base.execute("SELECT (SELECT count(*) FROM launch), (SELECT sum(events) FROM"
                                       " rollup JOIN series ON id = series_id WHERE kind = 'launch')"
                                       ).fetchone()
        self.assertLess(kept, every)
        gpu = said["gpus"][0]
        self.assertGreater(gpu["steps"], 100, text)
        for name in ("productive_share", "idle_share"):
            self.assertAlmostEqual(gpu[name], whole[name], delta=0.005, msg=text)
        # Totals are of all steps, also of those whose rows are gone.
        self.assertRegex(text, r"LAUNCH +44/step")
        self.assertRegex(text, r"h2d 4\.0\d MB/step")


class Rare(cli.Case):
    def test_a_copy_of_some_steps_is_no_amount_of_each(self):
        run = self.folder / "run"
        trained.train(run, 1, "--loss-every", "20", steps=100)
        trained.report(run)
        # There is room for few lines: only this copy's.
        with contextlib.closing(sqlite3.connect(run / "gpushim.run.db")) as base, base:
            base.execute("DELETE FROM copy_stat WHERE kind <> 'd2h' OR bytes > 4 * count")
        text, _ = trained.report(run / "gpushim.run.db")
        self.assertRegex(text, r"d2h 4 B in one of 1\d steps")


class OwnCost(cli.Case):
    def test_a_short_process_stands_for_no_other(self):
        run = self.folder / "run"
        trained.train(run, 2, steps=40)
        trained.report(run)
        with contextlib.closing(sqlite3.connect(run / "gpushim.run.db")) as base, base:
            base.execute("UPDATE rank SET own_cost_share = CASE rank WHEN 0 THEN 0.008 ELSE 0.288 END,"
                         " last_ns = first_ns + CASE rank WHEN 0 THEN 99000000 ELSE 1000000 END")
        text, said = trained.report("--all", run / "gpushim.run.db")
        self.assertAlmostEqual(said["trust"]["own_cost_share"], 0.0108, msg=text)
        self.assertRegex(text, r"own cost 1\.1 % of the busiest thread's time, mean of 2 processes, "
                               r"at most 0\.80 %")


class Hung(cli.Case):
    def test_a_job_that_hung_says_so_first(self):
        run = self.folder / "run"
        trained.train(run, 2)
        ended.in_a_hang(run, (0, 1), missing=1)
        text, said = trained.report(run, code=1)
        self.assertRegex(text, r"^VERDICT  hung: nothing moved for 11\.\d s, \d+ times the usual step;")
        lines = text[text.index("HUNG "):].replace("\n          ", " ").splitlines()
        self.assertRegex(lines[0], r"^HUNG +nothing moved for 11\.\d s, \d+ times the usual step$")
        self.assertRegex(lines[1], r"^ +rank 1 has not called ncclAllReduce \d+ of communicator \w+ "
                                   r"\(2 ranks\), in which rank 0 waits; its last is \d+; has made no call "
                                   r"for 11\.\d s")
        self.assertRegex(lines[2], r"^ +rank 0 waits in cu\w+ for 11\.0 s, last called ncclAllReduce \d+$")
        self.assertNotIn("steps/s", text)
        self.assertNotIn(" try ", text)
        self.assertEqual([rank["rank"] for rank in said["hang"]["missing"]], [1])
        self.assertEqual([rank["rank"] for rank in said["hang"]["waiting"]], [0])

    def test_one_that_did_not_says_nothing_of_it(self):
        run = self.folder / "run"
        trained.train(run, 2)
        text, said = trained.report(run)
        self.assertNotIn("HUNG", text)
        self.assertIsNone(said["hang"]["for_ns"])


class Peers(cli.Case):
    def test_events_of_the_slow_rank_are_no_waits_of_the_others(self):
        run, alone = self.folder / "run", self.folder / "alone"
        trained.train(run, 3, steps=30, knobs={"GPUSIM_SLOW": "1:1.3"})
        text, said = trained.report(run)
        trained.train(alone, 3, steps=30, knobs={"GPUSIM_SLOW": "1:1.3", "LD_PRELOAD": ""})
        truth = true_shares.Truth(alone / "truth", 3)
        steps = range(said["steps"]["first"], said["steps"]["last"] + 1)
        for gpu in said["gpus"]:
            true = truth.shares(gpu["rank"], steps)
            for part in ("productive", "waiting_for_peer", "memory"):
                self.assertAlmostEqual(gpu[f"{part}_share"], true[part], delta=0.001, msg=text)
        windows = [gpu["window_ns"] for gpu in said["gpus"]]
        self.assertAlmostEqual(max(windows) / min(windows), 1, delta=0.0005, msg=text)


class Killed(cli.Case):
    def test_what_was_timed_until_then_is_known(self):
        """In its first window, of which there is no row yet."""
        run, alone = self.folder / "run", self.folder / "alone"
        run.mkdir()
        command = [sys.executable, "-B", REALISTIC / "as_drawn.py", "--ranks", 2, "--steps", 60]
        done = box.run(command, {"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": 2, "KILLED_AT": 40,
                                 "LD_PRELOAD": box.BUILD / "libgpushim.so", "GPUSHIM_BUDGET": "100%",
                                 "GPUSHIM_OUT": f"{run}/%r.db"})
        self.assertEqual(done.returncode, 128 + 9, done.stderr)
        shim = ctypes.CDLL(str(box.BUILD / "libgpushim.so"))
        self.assertEqual(shim.gpushim_recover(str(run).encode()), 0)
        text, said = trained.report("--all", run)
        trained.train(alone, 2, steps=60, knobs={"LD_PRELOAD": ""})
        truth = true_shares.Truth(alone / "truth", 2)
        self.assertIn("trust   device times by events: 1 window", text)
        for gpu in said["gpus"]:
            self.assertGreater(gpu["steps"], 20, text)
            true = truth.shares(gpu["rank"], range(gpu["steps"]))
            for part in ("productive", "memory", "idle"):
                self.assertAlmostEqual(gpu[f"{part}_share"], true[part], delta=0.005, msg=text)


class Cost(cli.Case):
    def test_all_but_computing_is_priced_alike(self):
        """Three GPUs wait 28 % of their time for the fourth: that is 20 GPU-hours of 96 a day."""
        run = self.folder / "run"
        trained.train(run, 4, steps=30, knobs={"GPUSIM_SLOW": "2:1.4"})
        text, said = trained.report("--price", "2", run)
        cost = said["cost"]
        for name in ("idle", "waiting", "exposed_comm", "memory"):
            share = "waiting_for_peer" if name == "waiting" else name
            hours = 24 * sum(gpu[f"{share}_share"] for gpu in said["gpus"])
            self.assertAlmostEqual(cost[f"{name}_gpu_hours_per_day"] / hours, 1, delta=0.01, msg=text)
        lost = 24 * sum(1 - gpu["productive_share"] for gpu in said["gpus"])
        self.assertAlmostEqual(cost["lost_gpu_hours_per_day"] / lost, 1, delta=0.01, msg=text)
        self.assertAlmostEqual(cost["lost_price_per_day"], 2 * cost["lost_gpu_hours_per_day"])
        self.assertGreater(cost["waiting_gpu_hours_per_day"], 15)
        self.assertRegex(text, r"LOST +idle 0\.\d \+ waiting 20\.\d .* of 96 GPU-hours or \$\d+\.\d\d a day")


class OneRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        cls.run_of_two = cls.folder / "run"
        trained.train(cls.run_of_two, 2)
        cls.text, cls.said = trained.report(cls.run_of_two)

    def test_phases_are_what_ran_and_not_what_was_launched(self):
        """8 layers of 150 + 15 us forward and 300 + 20 us backward, and of 25 us each in the optimizer."""
        phases = {phase["name"]: phase["device_ns_per_step"] for phase in self.said["phases"]}
        for name, us in (("forward", 8 * 165 + 20), ("backward", 8 * 320), ("optimizer", 8 * 25)):
            self.assertAlmostEqual(phases[name] / 1e3, us, delta=0.01 * us, msg=self.text)
        self.assertRegex(self.text, r"PHASES .*on GPUs")

    def test_a_phase_in_which_nothing_ran_is_not_named(self):
        run = self.folder / "without_forward.db"
        shutil.copy(self.run_of_two / "gpushim.run.db", run)
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            base.execute("UPDATE phase SET device_ns = 0 WHERE name = 'forward'")
        text, said = trained.report(run)
        self.assertNotIn("forward", text[text.index("PHASES"):].splitlines()[0], text)
        forward = [phase for phase in said["phases"] if phase["name"] == "forward"]
        self.assertEqual([phase["device_ns_per_step"] for phase in forward], [0])

    def test_the_step_is_also_said_without_our_events(self):
        steps, gpu = self.said["steps"], self.said["gpus"][0]
        self.assertLess(steps["undisturbed_median_ns"], steps["median_ns"])
        true_ns = trained.true_step_ns(self.run_of_two)
        mean_ns = gpu["window_ns"] / gpu["steps"]
        self.assertAlmostEqual(mean_ns / steps["undisturbed_median_ns"], 1, delta=0.05)
        self.assertLessEqual(steps["undisturbed_median_ns"], true_ns)
        self.assertRegex(self.text, r" 4\.\d+ ms without our events, as are GPU and IDLE below\n")

    def test_the_longest_gap_of_a_step_lies_in_it(self):
        with contextlib.closing(sqlite3.connect(self.run_of_two / "gpushim.run.db")) as run:
            outside = run.execute(
                "SELECT g.rank_id, s.step, p.longest_from_ns - s.begin_ns, s.dur_ns FROM gap p"
                " JOIN gpu g ON g.gpu_id = p.gpu_id JOIN step s ON s.rank_id = g.rank_id AND s.step = p.step"
                " WHERE p.longest_from_ns NOT BETWEEN s.begin_ns AND s.begin_ns + s.dur_ns").fetchall()
            gaps, = run.execute("SELECT count(*) FROM gap WHERE step >= 0").fetchone()
        self.assertEqual(outside, [])
        self.assertGreater(gaps, 20)
