"""The four rungs: names of the convolutions' kernels and what they take, in us of a step, beside the sums of
kernel time that were published. Times are settings of the simulation, no GPU's.

Convolutions go over three ways (forward, to the data, to the weights). Conversions are between NCHW, as the
tensors are kept, and NHWC, as tensor cores want them; `channels_last` keeps them so. The rest is
normalisation and the like.
"""
from typing import NamedTuple

from next_change import Change

LAYERS, SAMPLES = 50, 256
WAYS = ("fprop", "dgrad", "wgrad")
OTHERS = ("cudnn_bn_fw_tr_1C11_kernel_NCHW", "vectorized_elementwise_kernel_relu",
          "cudnn_bn_bw_1C11_kernel_new")
CONVERSIONS = ("nchwToNhwcKernel", "nhwcToNchwKernel")


class Rung(NamedTuple):
    name: str
    convolutions: str  # with the way in it
    convolutions_us: int
    conversions_us: int
    others_us: int
    published_ms: float
    named_by: Change  # which findings of the rung before ask for it


XMMA = "sm80_xmma_{}_implicit_gemm_"
IN_TF32 = XMMA + "tf32f32_tf32f32_f32_nhwckrsc_nchw_tensor16x8x8"
IN_HALF = XMMA + "f16f16_f16f32_f32_nhwckrsc_nhwc_tensor16x8x16"
RUNGS = (
    Rung("fp32", "implicit_convolve_sgemm_{}_128x128", 166_400, 0, 22_000, 188.39, Change()),
    Rung("tf32", IN_TF32, 88_250, 0, 22_000, 110.25, Change(("no_tensor_cores",), "TF32")),
    Rung("amp", IN_HALF, 32_130, 27_230, 13_500, 72.86, Change(("no_tensor_cores",), "AMP")),
    Rung("channels_last", IN_HALF, 32_130, 0, 13_500, 45.63,
         Change(("layout_conversions",), "channels last")),
)
NAMES = tuple(rung.name for rung in RUNGS)
