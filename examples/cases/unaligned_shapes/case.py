"""The vocabulary has 50,257 entries: tensor cores get two bytes at a time. Padded to 50,304 they get
sixteen."""
GEMM = "cutlass_80_tensorop_f16_s16816gemm_f16_256x64_32x4_nn_align"


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    gpu.layers()
    for layer in range(4):
        gpu.launch(f"{GEMM}8_{layer}__100us" if job.fixed else f"{GEMM}1_{layer}__200us")
    gpu.update()
    gpu.wait()
