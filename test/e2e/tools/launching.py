"""A folder with a `train.py` in which commands are run as people type them: as on a machine where gpushim is
installed, with the box's four GPUs."""
import os
import re
import subprocess

import box
import cli

FENCE = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
# As a training program does it: ranks by whatever launcher there is. Those of a job meet by a file.
TRAIN = f"""import os, pathlib, sys
for name, others in (("RANK", ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID")),
                     ("LOCAL_RANK", ("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")),
                     ("WORLD_SIZE", ("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"))):
    for other in others:
        if other in os.environ:
            os.environ.setdefault(name, os.environ[other])
if "RANK" in os.environ:
    os.environ.setdefault("TRAIN_ID_FILE", str(pathlib.Path.cwd() / "ranks.id"))
os.execv(sys.executable, [sys.executable, "-B", "{cli.TRAIN}", "--steps", "20"])
"""


class Job(cli.Case):
    def setUp(self):
        super().setUp()
        self.job = self.folder / "job"
        self.job.mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "gpushim").symlink_to(box.BUILD / "gpushim")
        (self.job / "train.py").write_text(TRAIN, encoding="utf-8")

    def environment(self, **more):
        """As a machine has it on which gpushim is installed."""
        return {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder),
                "LD_LIBRARY_PATH": f"{box.SIM}:{box.BUILD}", "GPUSIM_DEVICES": "4",
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1", **more}

    def run_in_job(self, commands, **more):
        done = subprocess.run(["sh", "-e", "-c", commands], cwd=self.job, env=self.environment(**more),
                              timeout=300, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout
