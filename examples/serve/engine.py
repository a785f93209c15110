"""The model on one GPU: a prefill of a prompt, and one token for each sequence of a batch.

    prefill   eager: every kernel is launched by itself, larger ones for longer prompts
    decode    a graph for each batch size that was captured; eager where there is none

The kernels only take time (../train/kernels.py). Their names are those that serving programs use, which is
all that an observer sees of what they are for.
"""
import ctypes

from kernels import Kernels
from traffic import PROMPTS

BATCHES = (1, 2, 4, 8, 16)
_HIDDEN = 4096  # floats of a token that the ranks of a tensor-parallel model add up in each layer

# (name, us of a decode step, us of 128 tokens of a prompt), in the order of a layer.
_LAYER = (("rms_norm_kernel", 2, 3), ("gemm_qkv", 10, 24), ("rotary_embedding_kernel", 2, 3),
          ("reshape_and_cache_flash_kernel", 2, 3), ("attention", 9, 12), ("gemm_out", 6, 18),
          ("rms_norm_post_kernel", 2, 3), ("gemm_up", 14, 40), ("act_and_mul_kernel", 2, 5),
          ("gemm_down", 9, 28))
_REDUCED = ("gemm_out", "gemm_down")  # what tensor-parallel ranks add up behind
_ATTENTION = {"decode": "paged_attention_v2_kernel", "prefill": "flash_fwd_kernel"}
_HEAD = (("gemm_head", 40), ("topk_sampling_kernel", 12))


def _named(name, phase, factor):
    name = _ATTENTION[phase] if name == "attention" else name
    return name if phase == "decode" else f"{name}_p{factor}"


def _kernel_times():
    times = {name: us for name, us in _HEAD}
    for name, decode_us, prefill_us in _LAYER:
        times[_named(name, "decode", 0)] = decode_us
        for tokens in PROMPTS:
            factor = tokens // PROMPTS[0]
            times[_named(name, "prefill", factor)] = prefill_us * factor
    return times


class Engine:
    def __init__(self, device, communicator, layers, graphs, batches=BATCHES):
        self._device, self._communicator, self._layers = device, communicator, layers
        self.stream = device.stream()
        self._kernels = Kernels(device, _kernel_times())
        self._hidden = device.floats(_HIDDEN * max(batches))
        # What the device reads at each step (tokens, positions, tables of blocks), and what comes back.
        self._inputs, self._device_inputs = device.host_floats(256 * max(batches)), device.floats(1 << 16)
        self._tokens, self._device_tokens = device.host_floats(max(batches)), device.floats(max(batches))
        self._prompt = device.host_floats(max(PROMPTS))
        self.batches = batches
        self._graphs = {size: self._capture(size) for size in (batches if graphs else ())}

    def _capture(self, size):
        return self._device.graph(self.stream, lambda: self._decode_kernels(size))

    def _layer(self, phase, factor, sequences):
        for name, _, _ in _LAYER:
            self._kernels.launch(_named(name, phase, factor), self.stream)
            if self._communicator and name in _REDUCED:
                self._communicator.all_reduce(self._hidden, _HIDDEN * sequences, self.stream)

    def _decode_kernels(self, sequences):
        for _ in range(self._layers):
            self._layer("decode", 0, sequences)
        for name, _ in _HEAD:
            self._kernels.launch(name, self.stream)

    def prefill(self, tokens):
        """The prompt's first token, as an answer that is under way; take it with `read_back`."""
        self._device.upload(self._device_inputs, self._prompt, self.stream, count=tokens)
        for _ in range(self._layers):
            self._layer("prefill", tokens // PROMPTS[0], 1)
        for name, _ in _HEAD:
            self._kernels.launch(name, self.stream)

    def decode(self, sequences):
        """One more token for each; a graph of the next size that there is."""
        size = next(size for size in self.batches if size >= sequences)
        self._device.upload(self._device_inputs, self._inputs, self.stream, count=256 * size)
        if size in self._graphs:
            self._device.launch_graph(self._graphs[size], self.stream)
        else:
            self._decode_kernels(size)

    def read_back(self, sequences):
        """What was sampled: the host waits for it."""
        self._device.download(self._tokens, self._device_tokens, self.stream, count=sequences)
        self._device.driver.cuStreamSynchronize(self.stream)
