"""A language model as a server's loop sees it: prefills of prompts, and decodes by graph or kernel by kernel.

Names are those of libraries that serve: they are what tells a decode from a prefill.
"""
from gpu import HALF_GEMM

LAYERS = 8
DECODE_US = {"reshape_and_cache_flash_kernel": 3, "paged_attention_v2_kernel": 20}
PRODUCTS_US = {"qkv": 25, "out": 15, "up": 40, "down": 30}


class Model:
    def __init__(self, job, reduce=None, slower=1):
        """reduce(): what ranks add up behind each layer; `slower` times as long each kernel."""
        self.job, self.gpu, self.reduce, self.slower, self.graphs = job, job.gpu, reduce, slower, {}

    def _kernel(self, name, length_us):
        self.gpu.launch(f"{name}__{length_us * self.slower}us")

    def submit_decode(self):
        for _ in range(LAYERS):
            for name, length_us in DECODE_US.items():
                self._kernel(name, length_us)
            for name, length_us in PRODUCTS_US.items():
                self._kernel(f"{HALF_GEMM}_{name}", length_us)
            if self.reduce:
                self.reduce()
        self._kernel("topk_sampling_kernel", 15)

    def decode(self, batch, has_graph=True):
        """One token for each sequence. A graph is captured when its batch size first comes."""
        self.gpu.copy_in(1024)
        if not has_graph:
            self.submit_decode()
            return
        if batch not in self.graphs:
            self.graphs[batch] = self.gpu.capture(self.submit_decode)
        self.gpu.launch_graph(self.graphs[batch])

    def prefill(self, factor=8):
        self.gpu.copy_in(1024 * factor)
        for _ in range(LAYERS):
            self._kernel("reshape_and_cache_flash_kernel", 3 * factor)
            self._kernel("flash_fwd_kernel", 20 * factor)
            for name, length_us in PRODUCTS_US.items():
                self._kernel(f"{HALF_GEMM}_{name}_long", length_us * factor)
        self._kernel("topk_sampling_kernel", 15)

    def work(self, number, batch=4, prompt_every=15):
        """The iteration of that number: now and then a prompt, else a token for each sequence."""
        if number % prompt_every == 0:
            self.prefill()
        else:
            self.decode(batch)

    def read_back(self, size=64):
        self.gpu.copy_out(size)
        self.gpu.wait()
