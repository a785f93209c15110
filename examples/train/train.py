#!/usr/bin/env python3
"""Data-parallel training on every GPU, in plain Python on the CUDA driver and NCCL. See README.md here."""
import argparse
import functools
import os
import sys
import zlib

import job
from binding import ApiError
from buckets import DataError
from cuda import Driver
from rank import Rank


def parse_options():
    parser = argparse.ArgumentParser(description="Data-parallel training that moves real bytes.")
    number = parser.add_argument_group("how much")
    number.add_argument("--ranks", type=_positive, help="processes, rank i on GPU i (default: one per GPU)")
    number.add_argument("--steps", type=_positive, default=100)
    number.add_argument("--batch", type=_positive, default=32, help="samples per rank and step (32)")
    number.add_argument("--seed", type=int, default=0)
    number.add_argument("--layers", type=_positive, default=8)
    number.add_argument("--params", type=_positive, default=2_000_000, help="floats of gradient (2000000)")
    number.add_argument("--bucket-mb", type=float, default=4, help="size of an AllReduce (4)")
    number.add_argument("--input-mb", type=float, default=4, help="size of a rank's batch on its way (4)")
    number.add_argument("--loss-every", type=_positive, default=20, metavar="STEPS",
                        help="read and print the loss so often (20); every reading waits for the GPU")
    parser.add_argument("--unmarked", action="store_true", help="do not tell a tracer where steps end")
    problem = parser.add_argument_group("what slows training down")
    switch = functools.partial(problem.add_argument, action="store_true")
    switch("--pageable", help="load batches into memory that is not pinned")
    switch("--sync-every-step", help="wait for the GPU at the end of each step")
    switch("--small-kernels", help="the same work in kernels of 2 us")
    switch("--no-overlap", help="AllReduce on the stream of the kernels")
    problem.add_argument("--slow-input", type=float, default=0, metavar="MS", help="loading takes longer")
    problem.add_argument("--slow-rank", type=int, default=-1, metavar="RANK", help="it has twice the work")
    return parser.parse_args()


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def main():
    options = parse_options()
    try:
        if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
            job.follow_launcher()
            return run_rank(options, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
        ranks = options.ranks or Driver().device_count()
        return job.run(__file__, sys.argv[1:], max(1, ranks))
    except (ApiError, DataError) as error:
        who = f"rank {os.environ['RANK']}: " if "RANK" in os.environ else ""
        sys.stderr.write(f"train.py: {who}{error}\n")
        return 1


def run_rank(options, rank, world_size):
    id_file = os.environ.get("TRAIN_ID_FILE")
    if world_size > 1 and not id_file:
        raise ApiError("TRAIN_ID_FILE must name a file that all ranks can reach and that does not exist yet")
    if options.slow_rank >= world_size:
        raise DataError(f"--slow-rank {options.slow_rank}: the ranks are 0 to {world_size - 1}")
    worker = Rank(options, rank, int(os.environ.get("LOCAL_RANK", rank)), world_size, id_file)
    losses = []

    def report(step, loss):
        losses.append(loss)
        if rank == 0:
            print(f"step {step}  loss {loss:.4f}", flush=True)

    begin_ns = worker.now_ns()
    worker.train(report)
    seconds = (worker.now_ns() - begin_ns) / 1e9
    weights = worker.check()
    if rank == 0:
        _print_result(options, world_size, worker.gpu_name(), seconds, losses, weights)
    worker.close()
    return 0


def _print_result(options, world_size, gpu_name, seconds, losses, weights):
    samples = options.steps * options.batch * world_size
    print(f"{options.steps} steps in {seconds:.6f} s on {world_size} x {gpu_name}: "
          f"{options.steps / seconds:.1f} steps/s, {samples / seconds:.0f} samples/s", file=sys.stderr)
    print(f"loss {losses[-1].hex()}  weights {zlib.crc32(weights):08x}")
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}")


if __name__ == "__main__":
    sys.exit(main())
