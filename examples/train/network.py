"""The layers' kernels: which ones a layer launches, in which order, and how long each takes."""
from kernels import Kernels

# Microseconds of each kernel, and the kernels of one layer in each phase of a step.
_LARGE = {"gemm_fwd": 150, "gelu_fwd": 15, "softmax_loss": 20,
          "gelu_bwd": 20, "gemm_bwd": 300, "sgd_update": 25}
_LARGE_PHASES = {"forward": ["gemm_fwd", "gelu_fwd"], "backward": ["gelu_bwd", "gemm_bwd"],
                 "update": ["sgd_update"]}
_SMALL = {"pointwise_fwd": 2, "softmax_loss": 20, "pointwise_bwd": 2, "pointwise_update": 2}
_SMALL_PHASES = {"forward": ["pointwise_fwd"] * 82, "backward": ["pointwise_bwd"] * 160,
                 "update": ["pointwise_update"] * 12}


class Network:
    """`small_kernels`: about the same microseconds in many short kernels. `repeat`: every layer so often."""

    def __init__(self, device, stream, layers, small_kernels=False, repeat=1):
        self.layers, self._stream = layers, stream
        self._kernels = Kernels(device, _SMALL if small_kernels else _LARGE)
        phases = _SMALL_PHASES if small_kernels else _LARGE_PHASES
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
