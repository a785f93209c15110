"""Processes that take turns, and what is said of the cost of a step: made figures, and a program that is a
few lines of Python."""
import pathlib
import sys
import time
import types
import unittest

import box
import preload

sys.path[:0] = [str(box.ROOT / "test" / "gpu"), str(box.ROOT / "test" / "gpu" / "rows")]

import judging  # noqa: E402
import step_cost  # noqa: E402
import taking_turns  # noqa: E402
from taking_turns import Mode  # noqa: E402

# What programs/turns.py answers, with a step that takes as long as the first word says, in ns.
WORKER = """
import json, sys
for line in sys.stdin:
    word, *more = line.split()
    if word == "load":
        answer = {"missing": "no such thing"} if more[0] == "none" else {"ready": more[0]}
    elif word == "go":
        if sys.argv[1] == "dies":
            sys.exit("out of memory")
        # Who has just woken is slow.
        answer = {"step_ns": [1e6] + [float(sys.argv[1])] * (int(more[1]) - 1)}
    else:
        answer = {}
    print(json.dumps(answer), flush=True)
"""


def machine(seconds=30):
    return types.SimpleNamespace(library="", left_s=lambda: seconds, environment=dict)


def rounds(*shares):
    return [{"bare": 1000.0, "mode": 1000.0 * (1 + share)} for share in shares]


class Turns(preload.PreloadCase):
    def players(self, modes, seconds=30):
        return taking_turns.players(machine(seconds), [sys.executable, "-c", WORKER], modes)

    def test_each_mode_is_timed_in_each_round(self):
        with self.players({"bare": Mode(words=("1000",)), "slow": Mode(words=("1100",))}) as everyone:
            there, missing = taking_turns.load(everyone, "any")
            found = taking_turns.play(there, 0)
        self.assertEqual((missing, found), ({}, [{"bare": 1000, "slow": 1100}] * 2))

    def test_who_is_not_on_turn_is_stopped(self):
        with self.players({"bare": Mode(words=("1000",))}) as everyone:
            player = everyone["bare"]
            taking_turns.load(everyone, "any")
            self.assertEqual(taking_turns.awake(player, "go 3 3"), 1000)
            stat = pathlib.Path(f"/proc/{player.process.pid}/stat")
            for _ in range(500):  # a signal takes a moment
                state = stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
                if state == "T":
                    break
                time.sleep(0.01)
            self.assertEqual(state, "T")

    def test_who_cannot_is_named_and_left_out(self):
        with self.players({"bare": Mode(words=("1000",))}) as everyone:
            self.assertEqual(taking_turns.load(everyone, "none"), ({}, {"bare": "no such thing"}))

    def test_who_dies_is_wrong_and_who_is_late_is_out_of_time(self):
        with self.players({"bare": Mode(words=("dies",))}) as everyone:
            there, _ = taking_turns.load(everyone, "any")
            with self.assertRaisesRegex(AssertionError, "out of memory"):
                taking_turns.play(there, 0)
        with self.players({"bare": Mode(words=("1000",))}, seconds=0) as everyone:
            with self.assertRaises(judging.OutOfTime):
                taking_turns.load(everyone, "any")


class Costs(unittest.TestCase):
    def test_the_median_and_the_ranks_that_bound_it(self):
        few = taking_turns.costs(rounds(0.03, 0.01, 0.02), "mode")
        self.assertEqual([round(value, 6) for value in few[:3]], [0.02, 0.01, 0.03])
        # Of ten values the second and the ninth: 97.9 in 100.
        ten = taking_turns.costs(rounds(*(i / 100 for i in range(10))), "mode")
        self.assertEqual([round(value, 6) for value in ten[:3]], [0.045, 0.01, 0.08])
        # Of twenty the sixth and the fifteenth.
        twenty = taking_turns.costs(rounds(*(i / 100 for i in range(20))), "mode")
        self.assertEqual([round(value, 6) for value in twenty[:3]], [0.095, 0.05, 0.14])

    def test_a_goal_is_met_or_not_beyond_the_spread(self):
        cost = taking_turns.Costs(0.01, 0.005, 0.015, 1.0)
        self.assertEqual([cost.against(goal) for goal in (0.02, 0.012, 0.001)],
                         ["met", "within the spread", "not met"])

    def test_goals_are_of_training_and_of_the_cheapest_profiler(self):
        cost = lambda share: taking_turns.Costs(share, share, share, 1.0)  # noqa: E731
        found = {"host-only": cost(0.002), "default": cost(0.02), "profiler": cost(0.5),
                 "profiler, CUDA only": cost(0.01)}
        self.assertEqual(step_cost.goals("resnet18", found),
                         ["goal host-only <= 0.3%: met", "goal default <= 1.0%: not met",
                          "goal host-only below the profiler: met",
                          "goal default below the profiler: not met"])
        self.assertEqual(len(step_cost.goals("eager", found)), 2)
