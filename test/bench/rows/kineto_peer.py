"""Importing Kineto traces beside torch-tb-profiler's reading of the same files, in turns: how many times as
much processor time that tool takes, and the memory of both."""
import os
import pathlib
import sys
import tempfile
from statistics import median

from measure import BUILD, QUICK, ROOT, Figure, NotTried, in_turns

sys.path.insert(0, str(ROOT / "test" / "real_traces"))
import peers  # noqa: E402

FOLDER = pathlib.Path(os.environ.get("GPUSHIM_REAL_TRACES") or ROOT.parent / "shared" / "traces")
SAMPLES = "kineto/resnet50_num_workers_*.json.gz"  # that tool's own
TURNS = 1 if QUICK else 5
READ = "import sys; from torch_tb_profiler.profiler.data import RunProfileData as Data; " \
       "Data.parse('peer', 0, sys.argv[1], '.')"


def used(*command):
    """Seconds of processors, and the most memory in MB."""
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    # What other processes have left behind is for the next command, and no part of this.
    child = os.posix_spawn(command[0], [str(word) for word in command],
                           {**os.environ, "GPUSHIM_RECOVER": "own"}, file_actions=nowhere)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise NotTried(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def beside(python, file):
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
        run = pathlib.Path(folder) / "run.db"
        found = in_turns(TURNS, {
            "ours": lambda: used(BUILD / "gpushim", "import", "kineto", file, "-o", run),
            "peer": lambda: used(python, "-c", READ, file)})
    ratio = median(peer[0] / our[0] for our, peer in zip(found["ours"], found["peer"]))
    seconds, mb = ([median(turn[i] for turn in found[who]) for who in ("peer", "ours")] for i in (0, 1))
    return Figure(f"torch-tb-profiler / import, {file.name.split('.')[0]}", ratio, "", aim=25,
                  why=f"{seconds[0]:.2f} s and {mb[0]:.0f} MB beside {seconds[1]:.3f} s and {mb[1]:.0f} MB")


def measure():
    files = sorted(FOLDER.glob(SAMPLES))
    if not files:
        raise NotTried(f"no {SAMPLES} in {FOLDER}")
    try:
        python = peers.environment(BUILD / "peers")
    except peers.NotThere as why:
        raise NotTried(str(why)) from why
    for file in files:
        yield beside(python, file)
