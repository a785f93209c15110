#!/usr/bin/env python3
"""The eight variants as a PyTorch script: train.py --variant K [--batch 32] [--steps 100 | --seconds S]

A ResNet of 26 layers learns to tell random pictures apart; nothing is downloaded. Each variant is the one
before it and one change more (variants.py). It needs PyTorch 2.0 or newer and a GPU:

    GPUSHIM_TAG=variant=workers LD_PRELOAD=libgpushim.so python3 train.py --variant 1

`--device cpu --side 32 --channels 32 --batch 2` tries it without one: AMP is in bfloat16 then, and no memory
is pinned.
"""
import argparse
import pathlib
import shutil
import sys

import torch
from torch.utils.data import DataLoader

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cases"))
import torch_loop  # noqa: E402
from network import RandomPictures  # noqa: E402
from training import Training  # noqa: E402
from variants import VARIANTS, variant_options  # noqa: E402

WORKERS, AHEAD = 8, 1  # AHEAD: batches that each worker has ready; more take more shared memory
ENOUGH = 1 << 40       # pictures for any number of steps
SHARED_MEMORY = pathlib.Path("/dev/shm")


def workers_for(batch_bytes, wanted):
    """Batches of workers lie in shared memory, of which a container may have little: the process would be
    killed by SIGBUS."""
    free = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else 0
    workers = min(wanted, free // (batch_bytes * (AHEAD + 1)))
    if not workers:
        sys.exit(f"{SHARED_MEMORY} has {free >> 20} MiB free, a worker needs "
                 f"{batch_bytes * (AHEAD + 1) >> 20}: take a smaller --batch or --side, or docker run "
                 "--shm-size=8g")
    if workers < wanted:
        print(f"{workers} workers instead of {wanted}: {SHARED_MEMORY} has no room for more",
              file=sys.stderr)
    return workers


def loader(does, batch, options):
    """Endless; and its workers."""
    data = RandomPictures(ENOUGH, options.side, does.bytes_on_wire)
    workers = 0
    if does.workers:
        batch_bytes = batch * 3 * options.side ** 2 * (1 if does.bytes_on_wire else 4)
        workers = workers_for(batch_bytes, options.workers)
    batches = DataLoader(data, batch_size=batch, num_workers=workers,
                         prefetch_factor=AHEAD if workers else None,
                         pin_memory=does.pinned and options.device == "cuda")
    return batches, workers


def main():
    parser = argparse.ArgumentParser(description="a variant of the series in PyTorch")
    parser.add_argument("--variant", type=int, choices=range(len(VARIANTS)), required=True)
    parser.add_argument("--batch", type=int, default=32, help="of the first variants (32)")
    parser.add_argument("--workers", type=int, default=WORKERS, help=f"from variant 1 on ({WORKERS})")
    options = torch_loop.parse(parser)
    does = variant_options(options.variant)
    batch = options.batch * does.times_batch
    torch.manual_seed(0)
    torch_loop.allow_tf32(False)  # the series is about fp32 until AMP; TF32: ../precision_ladder
    torch.backends.cudnn.benchmark = True
    batches, workers = loader(does, batch, options)
    training = Training(does, options)
    torch_loop.train(VARIANTS[options.variant].name, training.step, batches, batch, options,
                     warm_up=torch_loop.WARM_UP + workers * AHEAD, workers=workers)


if __name__ == "__main__":
    main()
