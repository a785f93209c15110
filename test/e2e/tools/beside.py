"""A program that runs beside the test, and what is waited for meanwhile."""
import subprocess
import time

import box
from preload import PreloadCase, variables

PATIENCE_S = 300


class BesideCase(PreloadCase):
    def beside(self, command, **knobs):
        """The program under the shim; it is killed at the end."""
        job = subprocess.Popen([str(word) for word in command], text=True,
                               env=box.environment({**variables(self.folder), **knobs}),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        return job

    def until(self, condition):
        """What it returns once that is true."""
        end = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        return found
