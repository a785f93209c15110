#!/usr/bin/env python3
"""The four rungs as a PyTorch script: train.py --rung fp32|tf32|amp|channels_last [--batch 128] [--seconds S]

The network of ../seven_steps on one batch that stays on the GPU, so that there is nothing but its kernels.
Each rung has what the ones before it have. It needs PyTorch 2.0 or newer and a GPU, for TF32 an Ampere or
newer; `--device cpu --side 32 --channels 32 --batch 2` tries it without one (AMP in bfloat16).
"""
import argparse
import itertools
import pathlib
import sys
from types import SimpleNamespace

import torch

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "seven_steps"), str(FOLDER.parent / "cases")]
import torch_loop  # noqa: E402
from network import CLASSES  # noqa: E402
from rungs import NAMES  # noqa: E402
from training import Training  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="a rung of the ladder in PyTorch")
    parser.add_argument("--rung", choices=NAMES, required=True)
    parser.add_argument("--batch", type=int, default=128, help="(128)")
    options = torch_loop.parse(parser)
    has = NAMES[:NAMES.index(options.rung) + 1]
    torch.manual_seed(0)
    torch_loop.allow_tf32("tf32" in has)
    torch.backends.cudnn.benchmark = True
    layout = torch.channels_last if "channels_last" in has else torch.contiguous_format
    does = SimpleNamespace(pinned=False, bytes_on_wire=False, set_to_none=True, compiled=False,
                           amp="amp" in has)
    training = Training(does, options, layout)
    pictures = torch.randn(options.batch, 3, options.side, options.side)
    batch = (pictures.to(options.device, memory_format=layout),
             (torch.arange(options.batch) % CLASSES).to(options.device))
    torch_loop.train(options.rung, training.step, itertools.repeat(batch), options.batch, options)


if __name__ == "__main__":
    main()
