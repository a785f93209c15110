"""46 x 56 x 49 = 126,224 multiplications of 21.9 us in all, one for each small tensor of a layer."""
from gpu import HALF_GEMM

LAYERS, TENSORS = 56, 49
LAYER_US, MULTIPLY_NS, FUSED_US = 300, 21_900, 500


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    for layer in range(LAYERS):
        if job.fixed:  # the product before them multiplies, too
            gpu.launch(f"{HALF_GEMM}_mul_{layer}__{LAYER_US + FUSED_US}us")
            continue
        gpu.launch(f"{HALF_GEMM}_{layer}__{LAYER_US}us")
        for _ in range(TENSORS):
            gpu.launch(f"Mul_GPU_DT_FLOAT_DT_FLOAT_kernel__{MULTIPLY_NS}ns")
    gpu.wait()
