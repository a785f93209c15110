"""The layers' kernels: which ones a layer launches, in which order, and how long each takes."""
from kernels import Kernels

_SMALL_US = 2
_LARGE = {
    "gemm_fwd": 150, "gelu_fwd": 15, "softmax_loss": 20,
    "gemm_bwd": 300, "gelu_bwd": 20, "sgd_update": 25,
}
_SMALL = {"pointwise_fwd": _SMALL_US, "softmax_loss": 20, "pointwise_bwd": _SMALL_US, "pointwise_update": _SMALL_US}


class Network:
    """`small_kernels` does the same microseconds of work in many short kernels; `repeat` does the work so often."""

    def __init__(self, device, stream, layers, small_kernels=False, repeat=1):
        self.layers, self._stream = layers, stream
        self._kernels = Kernels(device, _SMALL if small_kernels else _LARGE)
        phases = {"forward": ["gemm_fwd", "gelu_fwd"], "backward": ["gelu_bwd", "gemm_bwd"], "update": ["sgd_update"]}
        if small_kernels:
            phases = {phase: _cut_up(names) for phase, names in phases.items()}
        self._phases = {phase: names * repeat for phase, names in phases.items()}

    def forward(self):
        for _ in range(self.layers):
            self._launch("forward")
        self._kernels.launch("softmax_loss", self._stream)

    def backward_layer(self):
        self._launch("backward")

    def update(self):
        for _ in range(self.layers):
            self._launch("update")

    def _launch(self, phase):
        for name in self._phases[phase]:
            self._kernels.launch(name, self._stream)


def _cut_up(names):
    total_us = sum(_LARGE[name] for name in names)
    phase = names[0].split("_")[1]
    return [f"pointwise_{phase}"] * (total_us // _SMALL_US)
