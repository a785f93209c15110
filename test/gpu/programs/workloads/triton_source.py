"""A kernel for Triton, which reads this source. To be loaded after how Triton runs it is decided."""
import importlib

triton, tl = importlib.import_module("triton"), importlib.import_module("triton.language")


@triton.jit
def scaled_by_triton(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at, mask=at < count)
    tl.store(target + at, value * 2 + 1, mask=at < count)
