"""The four rungs: names of the convolutions' kernels and what they take, in us of a step; published sums of
kernel time were 188.39, 110.25, 72.86 and 45.63 ms. Times are settings of the simulation, no GPU's.

Convolutions go over three ways (forward, to the data, to the weights). Conversions are between NCHW, as the
tensors are kept, and NHWC, as tensor cores want them; `channels_last` keeps them so. The rest is
normalisation and the like.
"""
from typing import NamedTuple

LAYERS = 50
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


XMMA = "sm80_xmma_{}_implicit_gemm_"
IN_TF32 = XMMA + "tf32f32_tf32f32_f32_nhwckrsc_nchw_tensor16x8x8"
IN_HALF = XMMA + "f16f16_f16f32_f32_nhwckrsc_nhwc_tensor16x8x16"
RUNGS = (
    Rung("fp32", "implicit_convolve_sgemm_{}_128x128", 166_400, 0, 22_000),
    Rung("tf32", IN_TF32, 88_250, 0, 22_000),
    Rung("amp", IN_HALF, 32_130, 27_230, 13_500),
    Rung("channels_last", IN_HALF, 32_130, 0, 13_500),
)
