"""What the scripts in PyTorch share: their options, the steps that are counted, and the differences between a
GPU and a CPU and between PyTorch's versions from 2.0 on."""
import ctypes
import itertools
import json
import os
import sys
import time

import torch

LARGE_GB = 48
WARM_UP = 3  # steps that are not counted: algorithms are chosen, code is compiled


def parse(parser):
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--side", type=int, help=f"of the pictures (224; 128 on a GPU below {LARGE_GB} GB)")
    parser.add_argument("--channels", type=int, default=256, help="of the network (256)")
    parser.add_argument("--steps", type=int, help="that are counted (100)")
    parser.add_argument("--seconds", type=float, help="instead: as many steps as begin in that time")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU here; --device cpu tries the script without one")
    options.side = options.side or side_for(options.device)
    if options.steps is None and options.seconds is None:
        options.steps = 100
    return options


def side_for(device):
    """512 pictures of 224 x 224 in fp32, or twice as many with AMP, take about 40 GB."""
    is_small = device == "cuda" and torch.cuda.get_device_properties(0).total_memory < LARGE_GB * 1e9
    return 128 if is_small else 224


def autocast(device, enabled):
    """On a CPU in bfloat16, which needs no scaling."""
    half = torch.float16 if device == "cuda" else torch.bfloat16
    return torch.autocast(device, dtype=half, enabled=enabled)


def grad_scaler(device, enabled):
    enabled = enabled and device == "cuda"
    if hasattr(torch.amp, "GradScaler"):  # from 2.3 on
        return torch.amp.GradScaler(device, enabled=enabled)
    return torch.cuda.amp.GradScaler(enabled=enabled)


def allow_tf32(allowed):
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):  # from 2.9 on
        torch.backends.cuda.matmul.fp32_precision = "tf32" if allowed else "ieee"
        torch.backends.cudnn.conv.fp32_precision = "tf32" if allowed else "ieee"
    else:
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def step_mark():
    """Tells gpushim that a step begins, and how many samples it has; without the preload it tells nobody."""
    mark = getattr(ctypes.CDLL(None), "gpushim_step_n", None)
    if mark is None:
        return lambda samples: None
    mark.argtypes = [ctypes.c_uint64]
    return mark


def train(name, step, batches, batch, options, warm_up=WARM_UP, **facts):
    """Takes the steps, marks those that are counted, and prints what came of them: the loss, and for programs
    a line of JSON. The GPU is waited for before the first of these steps and in the last, but in no other."""
    mark, batches = step_mark(), iter(batches)
    for _ in range(warm_up):
        step(*next(batches))
    synchronize(options.device)
    begin_s = time.monotonic()
    mark(batch)
    for steps in itertools.count(1):
        loss = step(*next(batches))
        is_last = (steps == options.steps if options.steps
                   else time.monotonic() - begin_s >= options.seconds)
        if is_last:
            synchronize(options.device)
        mark(batch)
        if is_last:
            break
    took_s = time.monotonic() - begin_s
    print(f"{name}: {steps} steps of {batch}, loss {loss.item():.6f}")
    print(json.dumps({"pid": os.getpid(), "steps": steps, "batch": batch, "took_s": took_s,
                      "samples_per_s": steps * batch / took_s, "side": options.side, **facts,
                      "torch": torch.__version__}))
