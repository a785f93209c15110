"""FlashInfer: attention and norms as servers launch them, programmatic launches among them."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 33, 180, True  # compiling takes the most of it


def check(machine):
    yield from check_work(machine, "flashinfer_decode", "FlashInfer")
