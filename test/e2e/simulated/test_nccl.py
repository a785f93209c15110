"""NCCL across processes: each rank is a process of its own, its scenario a function of nccl_scenarios.py."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import Any, NamedTuple

import box
from nccl_rank import INVALID_USAGE, IN_PROGRESS, LAUNCH_FAILED, REMOTE_ERROR

WORKER = box.TOOLS / "nccl_scenarios.py"
TIMEOUT_S = 2  # GPUSIM_NCCL_TIMEOUT_S where a rank is missing; more than this and a little is a hang


class Ended(NamedTuple):
    """How a rank ended: its exit status, and what its scenario returned (None: nothing)."""

    status: int
    result: Any


# Since 2.29, and since 2.31.
NEWER = """ncclCommGetUniqueId ncclCommGrow ncclCommSuspend ncclCommResume
           ncclPutSignal ncclSignal ncclWaitSignal
           ncclAllReduceConfig ncclAllGatherConfig ncclReduceScatterConfig ncclAlltoAllConfig
           ncclBroadcastConfig ncclReduceConfig ncclGatherConfig ncclScatterConfig"""


class NcclTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, scenario, ranks, knobs, run="run"):
        """Starts the ranks of one job; `finish` says how they ended."""
        folder = self.folder / run
        folder.mkdir()
        jobs = []
        for rank in range(ranks):
            env = box.environment({"GPUSIM_DEVICES": ranks, **knobs})
            env.update(RANK=str(rank), WORLD_SIZE=str(ranks))
            jobs.append(subprocess.Popen([sys.executable, "-B", str(WORKER), scenario, str(folder)], env=env,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True))
        return jobs

    def finish(self, jobs, timeout=120):
        ended = []
        try:
            for job in jobs:
                out, err = job.communicate(timeout=timeout)
                self.assertIn(job.returncode, (0, -signal.SIGKILL), err)
                ended.append(Ended(job.returncode, json.loads(out) if out else None))
        finally:
            for job in jobs:
                with job:
                    job.kill()
        return ended

    def results(self, scenario, ranks, knobs=None):
        return [ended.result for ended in self.finish(self.start(scenario, ranks, knobs or {}))]

    def truth(self, run, rank):
        truth = box.read_truth(self.folder / f"truth.{run}.{rank}")
        return [op for op in truth if op.name.startswith("nccl")]

    def test_the_names_are_those_of_the_header(self):
        """Every function that nccl.h declares, and its twin; ncclX is weak, pncclX is not. And newer ones."""
        headers = [folder / "nccl.h" for folder in box.include_folders()]
        header = next(path for path in headers if path.exists()).read_text(encoding="utf-8")
        code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
        declared = set(re.findall(r"\b(p?nccl[A-Z]\w*)\s*\([^()]*\);", code))
        command = ["nm", "-D", "--defined-only", str(box.SIM / "libnccl.so.2")]
        symbols = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
        exported = {name: kind for _, kind, name in map(str.split, symbols.splitlines())}
        self.assertGreater(len(declared), 80)
        self.assertEqual(declared - set(exported), set())
        newer = set(exported) - declared
        self.assertEqual({name.lstrip("p") for name in newer},
                         {name for name in NEWER.split() if name not in declared})
        for name, kind in exported.items():
            self.assertEqual(kind, "T" if name.startswith("p") else "W", name)

    # --- bytes ---

    def check_collectives(self, n):
        def part(rank, which):
            return [rank * 100 + 2 * which, rank * 100 + 2 * which + 1]

        def total(which):
            return [sum(part(rank, which)[i] for rank in range(n)) for i in range(2)]

        everything = [value for rank in range(n) for value in part(rank, 0)]
        nothing = [-1] * (2 * n)
        for rank, got in enumerate(self.results("collectives", n)):
            self.assertEqual(got["all_reduce"], total(0))
            self.assertEqual(got["max"], part(n - 1, 0))
            self.assertEqual(got["reduce"], total(0) if rank == n - 1 else [-1, -1])
            self.assertEqual(got["reduce_scatter"], total(rank))
            self.assertEqual(got["broadcast"], part(1, 0))
            self.assertEqual(got["all_gather"], everything)
            self.assertEqual(got["all_to_all"], [value for peer in range(n) for value in part(peer, rank)])
            self.assertEqual(got["gather"], everything if rank == 0 else nothing)
            self.assertEqual(got["scatter"], part(0, rank))

    def test_collectives_of_two(self):
        self.check_collectives(2)

    def test_collectives_of_three(self):
        self.check_collectives(3)

    def test_collectives_of_eight(self):
        self.check_collectives(8)

    def test_sixty_four_ranks(self):
        self.assertEqual(self.results("one_all_reduce", 64), [[64 * 65 // 2, 64 * 7]] * 64)

    def test_send_and_receive_in_any_order(self):
        self.assertEqual(self.results("ring", 3), [[2, 20], [0, 0], [1, 10]])

    def test_operations_of_a_stream_keep_their_order(self):
        self.assertEqual(self.results("order", 2), [[(1 << 50) % (1 << 32)]] * 2)

    def test_eight_jobs_at_once(self):
        jobs = [self.start("one_all_reduce", 2, {}, f"job{i}") for i in range(4)]
        for job in jobs:
            self.assertEqual([ended.result for ended in self.finish(job)], [[3, 14]] * 2)

    def test_a_captured_collective_happens_at_each_launch(self):
        self.assertEqual(self.results("graph", 2), [[1, 2, 4, 8]] * 2)

    # --- communicators ---

    def test_split_by_color_ordered_by_key(self):
        # Ranks 0 to 4: {0, 2} and {1, 3} in reversed order, 4 in none.
        self.assertEqual(self.results("split", 5), [[1, 2, 5], [1, 2, 10], [0, 2, 5], [0, 2, 10], None])

    def test_shrink_leaves_ranks_out(self):
        self.assertEqual(self.results("shrink", 4),
                         [[[0, 3, 13], [0, 2, 9]], [], [[1, 3, 13]], [[2, 3, 13], [1, 2, 9]]])

    def test_non_blocking_says_when_all_are_there(self):
        first, second = self.results("non_blocking", 2)
        self.assertEqual([first["first"], second["first"]], [IN_PROGRESS] * 2)
        self.assertEqual(first["alone"], IN_PROGRESS)
        self.assertEqual([first["total"], second["total"]], [[3], [3]])
        self.assertEqual(first["finalized"], IN_PROGRESS)

    def test_scalable_init(self):
        self.assertEqual(self.results("scalable", 3), [[6]] * 3)

    def test_two_ranks_on_one_device_are_refused(self):
        self.assertEqual(set(self.results("same_device", 2)) - {REMOTE_ERROR}, {INVALID_USAGE})

    # --- times ---

    def test_all_wait_for_the_last(self):
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_TRUTH": self.folder / "truth.late.%r"}
        self.assertEqual(self.results("late", 3, knobs), [3] * 3)
        (first,), (last,), (third,) = (self.truth("late", rank) for rank in range(3))
        self.assertEqual({first.end_ns, third.end_ns}, {last.end_ns})
        # Rank 1's launch came 5 ms after the others': they wait on their devices.
        self.assertGreaterEqual(last.start_ns - max(first.start_ns, third.start_ns), 5_000_000)
        for rank in (first, last, third):
            self.assertLess(rank.start_ns - rank.call_enter_ns, 1_000_000)
        # 2(n-1)/n of 4000 bytes at 200 GB/s and 10 us.
        self.assertEqual(last.end_ns - last.start_ns, 10_000 + round(4 / 3 * 4000 / 200))
        self.assertEqual(first.bytes, 4000)
        self.assertEqual(first.name, "ncclDevKernel_AllReduce_Sum_u32_RING_LL")

    def test_joining_waits_for_the_last_in_virtual_time(self):
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_TRUTH": self.folder / "truth.join.%r"}
        self.assertEqual(self.results("late_to_join", 2, knobs), [[3, 14]] * 2)
        (first,), (last,) = (self.truth("join", rank) for rank in range(2))
        self.assertGreater(first.call_enter_ns, 1_005_000_000)  # the virtual clock begins at 1 s
        self.assertEqual(first.end_ns, last.end_ns)

    def test_stepped_runs_are_equal_to_the_byte(self):
        for run in ("one", "two"):
            knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_JITTER": "0.2", "GPUSIM_SEED": "7",
                     "GPUSIM_TRUTH": self.folder / f"truth.{run}.%r"}
            ended = self.finish(self.start("steps", 2, knobs, run))
            self.assertEqual([rank.result for rank in ended], [[1024, 1024]] * 2)
        for rank in range(2):
            one, two = ((self.folder / f"truth.{run}.{rank}").read_bytes() for run in ("one", "two"))
            self.assertEqual(one, two)
        times = [[(op.start_ns, op.end_ns) for op in self.truth("one", rank)] for rank in range(2)]
        self.assertEqual([end for _, end in times[0]], [end for _, end in times[1]])
        self.assertEqual(len(times[0]), 20)
        # A communicator does one thing after the other, whatever the streams.
        for before, after in zip(times[0], times[0][1:]):
            self.assertLessEqual(before[1], after[0])

    # --- ranks that are lost ---

    def test_a_killed_rank_ends_the_others_with_an_error(self):
        *others, killed = self.finish(self.start("killed", 3, {"GPUSIM_NCCL_TIMEOUT_S": 3 * TIMEOUT_S}))
        self.assertEqual(killed.status, -signal.SIGKILL)
        for _, other in others:
            self.assertEqual((other["result"], other["async"]), (LAUNCH_FAILED, REMOTE_ERROR))
            self.assertEqual(other["next"], REMOTE_ERROR)
            self.assertLess(other["lasted"], 3 * TIMEOUT_S)  # sooner than a rank that is only late

    def test_the_others_can_go_on_without_a_killed_rank(self):
        *others, _ = self.finish(self.start("killed_and_shrunk", 3, {"GPUSIM_NCCL_TIMEOUT_S": 4 * TIMEOUT_S}))
        self.assertEqual([other.result for other in others], [{"async": REMOTE_ERROR, "total": [3]}] * 2)

    def test_an_operation_that_a_rank_never_joins_ends_in_time(self):
        waiting, _ = self.results("operation_never_comes", 2, {"GPUSIM_NCCL_TIMEOUT_S": TIMEOUT_S})
        self.assertEqual((waiting["result"], waiting["async"]), (LAUNCH_FAILED, REMOTE_ERROR))
        self.assertGreaterEqual(waiting["lasted"], TIMEOUT_S)

    def test_a_communicator_that_a_rank_never_joins_ends_in_time(self):
        waiting, _ = self.results("never_comes", 2, {"GPUSIM_NCCL_TIMEOUT_S": TIMEOUT_S})
        self.assertEqual((waiting["result"], waiting["comm"]), (REMOTE_ERROR, False))
        self.assertGreaterEqual(waiting["lasted"], TIMEOUT_S)

    def test_different_counts_are_an_error(self):
        for result in self.results("disagree", 2):
            self.assertEqual((result["result"], result["async"]), (LAUNCH_FAILED, INVALID_USAGE))
