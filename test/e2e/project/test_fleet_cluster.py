"""What scripts/fleet/cluster starts is over when it ends, also where somebody ends it; without Spark."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import box

PLACE = box.ROOT / "scripts/fleet/cluster"
# A command that starts something which does not end by SIGTERM, as Spark's driver may be, and waits for it.
COMMAND = """
import signal, subprocess, sys
subprocess.run([sys.executable, "-c", "import pathlib, os, signal, time; signal.signal(signal.SIGTERM, "
                "signal.SIG_IGN); pathlib.Path(r'{place}').write_text(str(os.getpid())); time.sleep(600)"])
"""
SCRIPT = """
import importlib.machinery, importlib.util, os, signal, sys
loader = importlib.machinery.SourceFileLoader("cluster", r"{cluster}")
cluster = importlib.util.module_from_spec(importlib.util.spec_from_loader("cluster", loader))
loader.exec_module(cluster)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
cluster.PATIENCE_S = 1
started = cluster.Started(r"{folder}")
try:
    started.run([sys.executable, "-c", {command!r}], dict(os.environ))
finally:
    started.end()
"""


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] != "Z"
    except OSError:
        return False


class Cluster(unittest.TestCase):
    def test_nothing_outlives_it(self):
        with tempfile.TemporaryDirectory(prefix="gpushim-cluster-") as folder:
            place = pathlib.Path(folder, "pid")
            script = SCRIPT.format(cluster=PLACE, folder=folder, command=COMMAND.format(place=place))
            with subprocess.Popen([sys.executable, "-B", "-c", script]) as process:
                until = time.monotonic() + 60
                while not (place.exists() and place.read_text(encoding="utf-8")):
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.05)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), 143)
            started = int(place.read_text(encoding="utf-8"))
            self.addCleanup(lambda: is_alive(started) and os.kill(started, signal.SIGKILL))
            self.assertFalse(is_alive(started))
