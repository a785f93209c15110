#!/usr/bin/env python3
"""One variant of the training loop on the simulated box: simulated.py --variant K [--batch 32] [--steps 20]

Each variant is the one before it and one change more; `--batch` is that of the first three. What they are is
in `variants.py`, what the network costs in `model.py`. The real one is `train.py`.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cases"))
import model
from gpu import MB, MS, US, advance, block, call, mark, open_gpus  # noqa: E402
from variants import VARIANTS, variant_options  # noqa: E402

BETWEEN_STEPS_NS = 400 * US  # what Python does between two steps
FROM_LOADER_NS = 150 * US    # a batch that is ready is taken from the workers' queue
LAYER_CODE_NS = 4 * US       # Python before a launch
WORKERS = 8
CONTEXT_BYTES = 150 * MB
UPDATE, TO_FLOAT = "multi_tensor_apply_kernel_sgd", "unrolled_elementwise_kernel_byte_to_float"


class Training:
    def __init__(self, does, batch):
        self.does, self.batch = does, batch
        arithmetic = model.COMPILED if does.compiled else model.AMP if does.amp else model.FP32
        self.kernels = model.kernels(arithmetic, batch)
        self.batch_bytes = batch * model.PICTURE_VALUES * (1 if does.bytes_on_wire else 4)
        self.gpu, = open_gpus(only=0, host_bytes=self.batch_bytes)
        self.gpu.allocate(CONTEXT_BYTES + batch * arithmetic.bytes_per_sample)
        self.loaded_ns = 0  # work that the loader's processes have done ahead

    def next_batch(self):
        """With workers, they decode while the GPU works, and this thread takes what they have."""
        if self.does.workers:
            block(FROM_LOADER_NS)
        else:
            advance(self.batch * model.DECODE_NS)

    def step(self):
        gpu, does = self.gpu, self.does
        mark(self.batch)
        self.next_batch()
        gpu.copy_in(self.batch_bytes, source=gpu.pinned if does.pinned else gpu.pageable)
        if does.bytes_on_wire:
            gpu.launch(f"{TO_FLOAT}__{self.batch * 300}ns", blocks=8 * self.batch)
        if not does.set_to_none:
            for _ in range(model.PARAMETER_TENSORS):
                gpu.clear(4 * model.PARAMETERS // model.PARAMETER_TENSORS)
        for kernel in self.kernels:
            advance(0 if does.compiled else LAYER_CODE_NS)
            kernel.launch(gpu)
        for _ in range(4):
            gpu.launch(f"{UPDATE}__100us")
        gpu.copy_out(4)  # the loss
        gpu.wait()
        advance(BETWEEN_STEPS_NS)


def main():
    parser = argparse.ArgumentParser(description="a variant of the series on the simulated box")
    parser.add_argument("--variant", type=int, choices=range(len(VARIANTS)), required=True)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--starts-after", type=int, default=0, metavar="SECONDS",
                        help="stepped time begins with the same second in each run (0)")
    options = parser.parse_args()
    advance(options.starts_after * 1000 * MS)
    does = variant_options(options.variant)
    training = Training(does, options.batch * does.times_batch)
    for _ in range(options.steps):
        training.step()
    mark()
    call("cuCtxSynchronize")


if __name__ == "__main__":
    main()
