#!/usr/bin/env python3
"""examples/train as draw.py draws it, by what the environment says of it: KILLED_AT, the ranks are killed at
the end of that step, as by a scheduler; TIMES, kernels are so many times as long, as a large model's; PACE
(step:factor), from that step on they are longer once more, as where sequences become longer."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "train"))
import host  # noqa: E402
import network  # noqa: E402
import train  # noqa: E402

KILLED_AT = int(os.environ.get("KILLED_AT", "-1"))
TIMES = float(os.environ.get("TIMES", "1"))
PACE_AT, _, PACE = os.environ.get("PACE", "-1:1").partition(":")


class Mortal(host.Host):
    def mark_step(self):
        super().mark_step()
        self._ended = getattr(self, "_ended", -1) + 1
        if self._ended == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)


class Longer(network.Network):
    """Its kernels are others from some step on: their names say how long they take."""

    def __init__(self, *arguments, **more):
        usual = network._LARGE
        network._LARGE = {name: round(us * TIMES) for name, us in usual.items()}
        super().__init__(*arguments, **more)
        network._LARGE = {name: round(us * TIMES * float(PACE)) for name, us in usual.items()}
        self._later = network.Network(*arguments, **more)
        network._LARGE = usual
        self._step = -1

    def forward(self):
        self._step += 1
        if self._step == int(PACE_AT):
            self._kernels = self._later._kernels
        super().forward()


if __name__ == "__main__":
    import rank
    rank.Host, rank.Network = Mortal, Longer
    train.__file__ = __file__  # what starts the ranks
    sys.exit(train.main())
