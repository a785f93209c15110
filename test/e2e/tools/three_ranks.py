"""Three ranks of a job, of which one stops to move: program/hang/rank.py."""
import signal
import subprocess
import sys
import time

import box
import cli

RANK = box.TOOLS.parent / "program" / "hang" / "rank.py"
PATIENCE_S = 300


class Case(cli.Case):
    def start(self, what, ranks=(0, 1, 2), **knobs):
        (self.folder / "ids").mkdir()
        knobs = {"GPUSIM_DEVICES": 3, "GPUSIM_NCCL_TIMEOUT_S": 600, "GPUSHIM_OUT": f"{self.folder}/%r.db",
                 "LD_PRELOAD": cli.LIBRARY, "PYTHONPATH": box.TOOLS, "WORLD_SIZE": 3, "SLURM_JOB_ID": 7,
                 **knobs}
        self.ranks = []
        for rank in ranks:
            job = subprocess.Popen([sys.executable, "-B", RANK, what, self.folder / "ids"],
                                   env=box.environment({**knobs, "RANK": rank}), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            self.ranks.append(job)
            self.addCleanup(job.wait)
            self.addCleanup(job.kill)

    def when_written(self):
        """Rank 1's calls are in its trace."""
        sql, until = "SELECT count(*) FROM collective", time.monotonic() + PATIENCE_S
        while True:
            done = self.gpushim("sql", self.folder / "1.db", sql, "--csv", expect=None)
            if done.stdout.split()[-1:] == ["40"]:
                return
            self.assertLess(time.monotonic(), until, done.stdout + done.stderr)
            time.sleep(0.1)

    def stop(self, **knobs):
        self.start("sleeps", **knobs)
        self.when_written()
        self.ranks[1].send_signal(signal.SIGSTOP)
