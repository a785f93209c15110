"""Slurm of Debian on this machine alone, started for a test and ended by pid."""
import os
import pathlib
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
STARTS_S = 60
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge.socket
CredType=cred/munge
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd.log
SlurmctldPort={controller}
SlurmdPort={node}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Node:
    """Its conf is for SLURM_CONF. Needs root, who starts the daemons."""

    def __init__(self, folder):
        self.at = pathlib.Path(folder)
        self.at.mkdir(mode=0o755)
        self.conf = self.at / "slurm.conf"
        for name in ("state", "spool"):
            (self.at / name).mkdir()
        host = socket.gethostname().split(".")[0]
        self.conf.write_text(CONF.format(host=host, at=self.at, controller=free_port(), node=free_port()),
                             encoding="utf-8")
        key = self.at / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.start("munged", "--force", f"--key-file={key}", f"--socket={self.at}/munge.socket",
                   f"--pid-file={self.at}/munged.pid", f"--log-file={self.at}/munged.log",
                   f"--seed-file={self.at}/munge.seed")
        self.start("slurmctld", "-f", self.conf)
        self.start("slurmd", "-f", self.conf)
        self.wait_until_idle()

    @staticmethod
    def start(*words):
        subprocess.run([str(word) for word in words], check=True, timeout=STARTS_S, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def state(self):
        asked = ["sinfo", "--noheader", "--format=%t"]
        done = subprocess.run(asked, env={**os.environ, "SLURM_CONF": str(self.conf)}, check=False,
                              timeout=STARTS_S, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout.strip()

    def wait_until_idle(self):
        give_up = time.monotonic() + STARTS_S
        while self.state() != "idle":
            if time.monotonic() > give_up:
                raise RuntimeError(f"{self.state()}\n" + self.said())
            time.sleep(0.2)

    def said(self):
        return "\n".join(log.read_text(errors="replace")[-1500:] for log in self.at.glob("*.log"))

    def end(self):
        """They are gone when it returns."""
        for name in ("slurmd", "slurmctld", "munged"):
            try:
                pid = int((self.at / f"{name}.pid").read_text(encoding="ascii"))
                give_up = time.monotonic() + STARTS_S
                os.kill(pid, signal.SIGTERM)
                while True:
                    time.sleep(0.05)
                    os.kill(pid, signal.SIGKILL if time.monotonic() > give_up else 0)
            except (FileNotFoundError, ProcessLookupError, ValueError):
                pass
