#!/usr/bin/env python3
"""examples/train whose ranks are killed at the end of step KILLED_AT, as by a scheduler."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "train"))
import host  # noqa: E402
import train  # noqa: E402


class Mortal(host.Host):
    def mark_step(self):
        super().mark_step()
        self._ended = getattr(self, "_ended", -1) + 1
        if self._ended == int(os.environ["KILLED_AT"]):
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    import rank
    rank.Host = Mortal
    train.__file__ = __file__  # what starts the ranks
    sys.exit(train.main())
