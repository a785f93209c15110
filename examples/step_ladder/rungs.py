"""The three rungs: what a step of each takes on the box, by kind of work in us, beside what was published.
The kernels and the host's part are settings of the simulation, no GPU's; published is the step alone."""
from typing import NamedTuple

from next_change import Change

CONVOLUTIONS, SAMPLES = 159, 256
HOST_US = 16_000  # before the update the host reads and writes a summary, and the GPU waits


class Rung(NamedTuple):
    name: str
    convolution: str  # its kernel's name
    convolutions_us: int
    other: str        # what is between them
    others: int
    others_us: int
    published_ms: float
    named_by: Change  # which findings of the rung before ask for it


XMMA = "sm80_xmma_fprop_implicit_gemm_"
RUNGS = (
    Rung("fp32", "implicit_convolve_sgemm_128x128", 439_000, "Relu_GPU_DT_FLOAT", 400, 133_000, 588,
         Change()),
    Rung("tf32", f"{XMMA}tf32f32_tf32f32_f32_nhwckrsc_nchw_tensor16x8x8", 250_000, "Relu_GPU_DT_FLOAT", 400,
         133_000, 399, Change(("no_tensor_cores",), "TF32")),
    Rung("amp_xla", f"{XMMA}f16f16_f16f32_f32_nhwckrsc_nhwc_tensor16x8x16", 205_000, "fusion", 60, 120_000,
         341, Change(("no_tensor_cores",), "AMP")),
)
NAMES = tuple(rung.name for rung in RUNGS)
