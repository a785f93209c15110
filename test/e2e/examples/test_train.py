"""examples/train: it learns, the same bits every time, from bytes that were moved; and it ends cleanly."""
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import box
import optional

FOLDER = box.ROOT / "examples" / "train"
TRAIN = FOLDER / "train.py"
SMALL = ["--steps", "12", "--loss-every", "5", "--params", "60000", "--bucket-mb", "0.1", "--input-mb", "0.1"]
HEX_LOSS = re.compile(r"^loss (0x\S+)  weights [0-9a-f]{8}$", re.MULTILINE)

sys.path.insert(0, str(FOLDER))


def start(*options, devices=2, knobs=None, **popen):
    environment = box.environment({"GPUSIM_DEVICES": devices, **(knobs or {})})
    return subprocess.Popen([sys.executable, "-B", str(TRAIN), *options], env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class TrainCase(unittest.TestCase):
    def train(self, *options, ranks=1, knobs=None, expect=0):
        command = [sys.executable, "-B", TRAIN, "--ranks", str(ranks), *options]
        done = box.run(command, {"GPUSIM_DEVICES": ranks, **(knobs or {})})
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def stepped(self, *options, ranks=1, knobs=None):
        """The run's output and its virtual seconds."""
        done = self.train(*SMALL, *options, ranks=ranks, knobs={"GPUSIM_CLOCK": "stepped", **(knobs or {})})
        return done.stdout, float(re.search(r"steps in (\S+) s on", done.stderr).group(1))


class Learning(TrainCase):
    def check_falling(self, ranks):
        lines = self.train(*SMALL, "--steps", "60", ranks=ranks).stdout.splitlines()
        first, last = map(float, re.fullmatch(r"loss (\S+) -> (\S+)", lines[-1]).groups())
        self.assertAlmostEqual(first, math.log(10), delta=0.1)
        self.assertLess(last, 0.5 * first)

    def test_the_loss_falls_with_1_rank(self):
        self.check_falling(1)

    def test_the_loss_falls_with_2_ranks(self):
        self.check_falling(2)

    def test_the_loss_falls_with_4_ranks(self):
        self.check_falling(4)

    def test_only_rank_0_prints_and_it_prints_each_line_once(self):
        lines = self.train(*SMALL, ranks=2).stdout.splitlines()
        steps = [line.split("  ")[0] for line in lines[:4]]
        self.assertEqual(steps, ["step 0", "step 5", "step 10", "step 11"])
        self.assertRegex(lines[4], HEX_LOSS)
        self.assertEqual(len(lines), 6)

    def test_it_prints_what_its_readme_shows(self):
        readme = (FOLDER / "README.md").read_text(encoding="utf-8")
        shown = "".join(f"    {line}\n" for line in self.train(ranks=4).stdout.splitlines())
        self.assertIn("\n\n" + shown + "\n", readme)

    def test_the_same_seed_gives_the_same_bits_and_another_does_not(self):
        first, again = (self.train(*SMALL, "--seed", "7", ranks=2).stdout for _ in range(2))
        self.assertEqual(first, again)
        other = self.train(*SMALL, "--seed", "8", ranks=2).stdout
        self.assertNotEqual(HEX_LOSS.search(first).group(1), HEX_LOSS.search(other).group(1))

    def test_two_ranks_sharing_a_batch_learn_what_one_learns_alone(self):
        alone = self.train(*SMALL, "--batch", "32", ranks=1).stdout
        shared = self.train(*SMALL, "--batch", "16", ranks=2).stdout
        # Every batch has the same samples either way; only the rounding of the sums differs.
        alone, shared = (float.fromhex(HEX_LOSS.search(output).group(1)) for output in (alone, shared))
        self.assertAlmostEqual(alone, shared, delta=1e-4)

    def test_the_gradient_is_the_slope_of_the_loss(self):
        import model
        rows, weights = model.Dataset(3).batch(5, 8), model.initial_weights(3)
        loss, gradient = model.loss_and_gradient(rows, weights)
        for i in range(0, model.WEIGHTS, 13):
            weights[i] += 1e-3
            higher, _ = model.loss_and_gradient(rows, weights)
            weights[i] -= 1e-3
            self.assertAlmostEqual((higher - loss) / 1e-3, gradient[i], delta=0.05)

    def test_a_batch_goes_on_at_the_start_after_the_last_sample(self):
        import model
        dataset = model.Dataset(0)
        everything = dataset.batch(0, 2048)
        self.assertEqual(dataset.batch(2047, 2), everything[-model.ROW:] + everything[:model.ROW])


class Options(TrainCase):
    """In virtual time, where a difference is one of the work and not of the machine."""

    def check_slower(self, *problem, usual=(), ranks=1, by=1.0):
        """The problem costs time and changes no result."""
        plain, plain_s = self.stepped(*usual, ranks=ranks)
        slow, slow_s = self.stepped(*usual, *problem, ranks=ranks)
        self.assertEqual(slow, plain)
        self.assertGreater(slow_s, plain_s * by)

    def test_pageable_memory_costs_time(self):
        self.check_slower("--pageable", usual=["--input-mb", "8"], by=1.2)

    def test_waiting_every_step_costs_time(self):
        self.check_slower("--sync-every-step", by=1.02)

    def test_slow_input_costs_time(self):
        self.check_slower("--slow-input", "20", by=3)

    def test_small_kernels_cost_time(self):
        self.check_slower("--small-kernels", by=1.2)

    def test_communication_without_overlap_costs_time(self):
        self.check_slower("--no-overlap", ranks=2)

    def test_one_slow_rank_holds_all_back(self):
        self.check_slower("--slow-rank", "1", ranks=2, by=1.5)

    def test_numbers_out_of_range_say_so(self):
        few = self.train("--params", "100", expect=1)
        self.assertIn("leaves no room for the 170 weights", few.stderr)
        outside = self.train("--slow-rank", "2", ranks=2, expect=1)
        self.assertIn("the ranks are 0 to 1", outside.stderr)
        none = self.train("--steps", "0", expect=2)
        self.assertIn("not 1 or more", none.stderr)

    def test_more_buckets_than_learned_weights(self):
        plain = self.train(*SMALL, "--steps", "2").stdout
        many = self.train(*SMALL, "--steps", "2", "--params", "1000", "--bucket-mb", "0.00002").stdout
        self.assertEqual(many, plain)

    def test_without_ranks_there_is_one_per_gpu(self):
        done = box.run([sys.executable, "-B", TRAIN, *SMALL], {"GPUSIM_DEVICES": 3})
        self.assertIn(" on 3 x Simulated ", done.stderr)

    def test_a_rank_runs_under_another_launcher(self):
        with tempfile.TemporaryDirectory() as folder:
            knobs = {"WORLD_SIZE": 2, "TRAIN_ID_FILE": os.path.join(folder, "id")}
            ranks = [start(*SMALL, knobs={**knobs, "RANK": rank, "LOCAL_RANK": rank}) for rank in (0, 1)]
            outputs = [rank.communicate(timeout=60)[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0])
        self.assertEqual(outputs, [self.train(*SMALL, ranks=2).stdout, ""])


class Truth(TrainCase):
    def truth(self, folder, *options, ranks=1, knobs=None):
        pattern = os.path.join(folder, "rank%r")
        self.stepped(*options, ranks=ranks, knobs={"GPUSIM_TRUTH": pattern, **(knobs or {})})
        return [pathlib.Path(folder, f"rank{rank}") for rank in range(ranks)]

    def check_repeatable(self, ranks):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            for first, second in zip(self.truth(one, ranks=ranks), self.truth(two, ranks=ranks)):
                self.assertGreater(first.stat().st_size, 1000)
                self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_stepped_time_repeats_to_the_byte_with_1_rank(self):
        self.check_repeatable(1)

    def test_stepped_time_repeats_to_the_byte_with_2_ranks(self):
        self.check_repeatable(2)

    def test_every_step_does_what_a_training_step_does(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = box.read_truth(self.truth(folder, "--layers", "4")[0])
        kernels = [row.name for row in rows if row.name.endswith("us")]
        self.assertEqual(kernels.count("gemm_fwd__150us"), 12 * 4)
        self.assertEqual(kernels.count("gemm_bwd__300us"), 12 * 4)
        self.assertEqual(kernels.count("sgd_update__25us"), 12 * 4)
        # Three buckets and the loss in each step; a maximum, at the end, has no kernel of its own in NCCL.
        self.assertEqual(sum("AllReduce_Sum" in row.name for row in rows), 12 * 4)
        self.assertEqual(sum(row.op == "d2d" and row.bytes == 80_000 for row in rows), 12 * 3)


class Ending(TrainCase):
    LONG = ["--ranks", "2", "--steps", "1000000", "--loss-every", "1", *SMALL[4:]]

    def started(self, knobs=None):
        """A job in the midst of its steps, and its ranks' processes."""
        job = start(*self.LONG, knobs=knobs)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        self.assertIn("step 0", job.stdout.readline())
        ranks = children(job.pid)
        self.addCleanup(lambda: [os.kill(rank, signal.SIGKILL) for rank in ranks if alive(rank)])
        self.assertEqual(len(ranks), 2)
        return job, ranks

    def check_all_gone(self, ranks):
        give_up = time.monotonic() + 30
        while any(map(alive, ranks)) and time.monotonic() < give_up:
            time.sleep(0.05)
        self.assertFalse(any(map(alive, ranks)))

    def test_a_killed_rank_ends_the_job(self):
        job, ranks = self.started()
        os.kill(ranks[1], signal.SIGKILL)
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 128 + signal.SIGKILL)
        self.assertIn("rank 1 was ended by SIGKILL", errors)
        self.check_all_gone(ranks)

    def test_ctrl_c_ends_the_job_without_a_traceback(self):
        job, ranks = self.started()
        for pid in [*ranks, job.pid]:  # a terminal sends it to all of them, in any order
            os.kill(pid, signal.SIGINT)
            time.sleep(0.2)
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 128 + signal.SIGINT)
        self.assertNotIn("Traceback", errors)
        self.check_all_gone(ranks)

    def test_a_killed_launcher_leaves_no_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            job, ranks = self.started({"TMPDIR": folder})
            job.kill()
            self.check_all_gone(ranks)
            self.assertEqual(os.listdir(folder), [])

    def test_a_failing_call_is_named_and_ends_the_job(self):
        knobs = {"GPUSIM_FAIL": "cuMemcpyHtoDAsync_v2:9:1"}
        done = self.train(*SMALL, ranks=2, knobs=knobs, expect=1)
        self.assertIn("cuMemcpyHtoDAsync_v2 returned CUDA_ERROR_INVALID_VALUE", done.stderr)

    def test_two_ranks_on_one_gpu_are_what_nccl_refuses(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.train(*SMALL, ranks=2, knobs={"GPUSIM_DEVICES": 1, "TMPDIR": folder}, expect=1)
            self.assertEqual(os.listdir(folder), [])
        self.assertRegex(done.stderr, r"rank [01]: ncclCommInitRank returned \d+ \(\S+")
        self.assertNotIn("Traceback", done.stderr)


class Beside(TrainCase):
    def test_a_tracer_hears_of_every_step(self):
        source = ('#include <cstdio>\nstatic int steps;\nextern "C" void gpushim_step() { ++steps; }\n'
                  '__attribute__((destructor)) static void tell() {'
                  ' if (steps) std::fprintf(stderr, "heard of %d steps\\n", steps); }\n')
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "libtracer.so")
            compiler = [os.environ.get("CXX", "g++"), "-x", "c++", "-shared", "-fPIC", "-o", library, "-"]
            subprocess.run(compiler, input=source, text=True, check=True)
            done = self.train(*SMALL, knobs={"LD_PRELOAD": library})
        self.assertIn("heard of 12 steps", done.stderr)

    def test_the_kernels_are_valid_ptx(self):
        ptxas = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
        if not ptxas:
            self.skipTest(optional.lacks("toolkit", "ptxas"))
        import kernels
        with tempfile.TemporaryDirectory() as folder:
            text = os.path.join(folder, "kernels.ptx")
            pathlib.Path(text).write_text(kernels.ptx({"gemm_fwd": 150, "pointwise_fwd": 2}))
            subprocess.run([ptxas, "-arch=sm_90", text, "-o", os.path.join(folder, "cubin")], check=True)
