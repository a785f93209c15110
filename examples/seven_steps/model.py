"""What one step of the network costs, as data: a ResNet-50-like net on pictures of 224 x 224, in eager mode
or compiled.

Times are settings of the simulation, chosen so that the series comes near the published one; they are no
GPU's. A kernel needs so many blocks for a sample, and the GPU runs 132 at a time: where a batch has fewer, it
is partly empty, and a larger batch costs no more.

    time = blocks of the batch / 132, rounded up, x 132 / blocks of a sample x time of a sample
"""
from typing import NamedTuple

PROCESSORS = 132
PICTURE_VALUES = 3 * 224 * 224
PARAMETER_TENSORS, PARAMETERS = 161, 25_557_032
DECODE_NS = 1_390_000  # of one sample, on one core


class Group(NamedTuple):
    """Layers whose outputs are of one size. share: of the time of a large batch."""

    layers: int
    blocks: int
    share: float


GROUPS = (Group(10, 32, 0.44), Group(26, 8, 0.44), Group(18, 1, 0.12))


class Arithmetic(NamedTuple):
    """Names of the kernels of a layer, and the time that a sample takes in all layers together, in ns."""

    convolutions: tuple
    convolution_ns: int
    between: tuple
    between_ns: int
    bytes_per_sample: int  # activations that are kept for the way back


FP32 = Arithmetic(
    ("ampere_scudnn_128x64_relu_medium_nn_v1", "ampere_scudnn_128x128_stridedB_small_nn_v1",
     "ampere_scudnn_128x64_stridedB_splitK_medium_nn_v1"), 295_000,
    ("cudnn_bn_fw_tr_1C11_kernel_NCHW", "vectorized_elementwise_kernel_clamp_relu",
     "vectorized_elementwise_kernel_add", "vectorized_elementwise_kernel_threshold_backward",
     "cudnn_bn_bw_1C11_kernel_new", "vectorized_elementwise_kernel_add_backward"), 272_000, 10_000_000)
HALF_CONVOLUTIONS = tuple(f"sm80_xmma_{way}_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tensor16x8x16"
                          for way in ("fprop", "dgrad", "wgrad"))
AMP = Arithmetic(
    HALF_CONVOLUTIONS, 127_000,
    (*FP32.between, "unrolled_elementwise_kernel_to_half_copy_kernel",
     "unrolled_elementwise_kernel_to_float_copy_kernel"), 254_000, 5_500_000)
COMPILED = Arithmetic(
    HALF_CONVOLUTIONS, 127_000,
    ("triton_poi_fused__native_batch_norm_relu_add",
     "triton_red_fused__native_batch_norm_backward_threshold"),
    163_000, 4_500_000)


class Kernel(NamedTuple):
    name: str
    blocks: int
    length_ns: int

    def launch(self, gpu):
        gpu.launch(f"{self.name}__{self.length_ns}ns", blocks=self.blocks)


def kernel(name, group, kernels, sample_ns, batch):
    """One of so many alike in a group, which share what a sample takes in the group."""
    blocks = group.blocks * batch
    waves = -(-blocks // PROCESSORS)
    return Kernel(name, blocks, int(waves * PROCESSORS * group.share * sample_ns / (kernels * group.blocks)))


def kernels(arithmetic, batch):
    """Of a step's way forward and back, in order."""
    convolutions, between = arithmetic.convolutions, arithmetic.between
    forward, back = [], []
    number = 0
    for group in GROUPS:
        for _ in range(group.layers):
            number += 1
            conv = [kernel(f"{name}_{number}", group, len(convolutions) * group.layers,
                           arithmetic.convolution_ns, batch) for name in convolutions]
            other = [kernel(f"{name}_{number}", group, len(between) * group.layers, arithmetic.between_ns,
                            batch) for name in between]
            half = len(other) // 2
            forward += [conv[0], *other[:half]]
            back += [list(reversed(other[half:])) + conv[1:]]
    return forward + [one for layer in reversed(back) for one in layer]
