"""`generate` of a library of models, as PyTorch runs it: no name tells of a cache, each kernel is launched by
itself, the token stays on the device, and the host reads whether it was the last. `fixed` gives the decode a
graph and a static cache."""
from gpu import HALF_GEMM

SERVES = True
LAYERS, TOKENS, BATCH, PROMPT = 12, 30, 4, 64
OF_LAYER_US = {"vectorized_layer_norm_kernel": 5, f"{HALF_GEMM}_qkv": 20, "CatArrayBatchedCopy": 8,
               "fmha_cutlassF_f16_aligned_64x64_rf_sm80": 15, f"{HALF_GEMM}_out": 15,
               "vectorized_elementwise_kernel_add": 4, f"{HALF_GEMM}_up": 25,
               "vectorized_elementwise_kernel_gelu": 4}
CHOICE = "reduce_kernel<512, 1, ReduceOp<float, ArgMaxOps<float>>>"


def forward(gpu, rows):
    for _ in range(LAYERS):
        for name, length_us in OF_LAYER_US.items():
            gpu.launch(f"{name}__{length_us}us", blocks=rows)


def setup(job):
    job.made["decode"] = job.gpu.capture(lambda: forward(job.gpu, BATCH))


def step(job):
    gpu = job.gpu
    if job.number % TOKENS == 0:
        forward(gpu, BATCH * PROMPT)
        gpu.launch(f"{HALF_GEMM}_of_all_tokens__3000us")
    elif job.fixed:
        gpu.launch_graph(job.made["decode"])
    else:
        forward(gpu, BATCH)
    gpu.launch(f"{CHOICE}__10us", blocks=BATCH)
    for name in ("cat_tokens", "eos_of_any", "is_all_done"):
        gpu.launch(f"{name}__3us", blocks=1)
    gpu.copy_out(1)
    gpu.wait()
