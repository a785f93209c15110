"""Importing Kineto traces beside what other tools take to read the same files, in turns: how many times as
much processor time they take, and the memory of all. torch-tb-profiler reads, as the import does;
HolisticTraceAnalysis is asked where the time went, as `gpushim report` is."""
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
ASK = peers.PROGRAMS["hta"]


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
        trace, peer = pathlib.Path(folder) / "trace.db", pathlib.Path(folder) / "peer"
        peer.mkdir()
        found = in_turns(TURNS, {
            "import": lambda: used(BUILD / "gpushim", "import", "kineto", file, "-o", trace),
            "report": lambda: used(BUILD / "gpushim", "report", trace),
            "read": lambda: used(python, "-c", READ, file),
            "asked": lambda: used(python, "-c", ASK, file)})
    with_report = [tuple(map(sum, zip(*both))) for both in zip(found["import"], found["report"])]
    name = file.name.split(".")[0]
    yield compared(f"torch-tb-profiler / import, {name}", found["read"], found["import"], aim=25)
    yield compared(f"HolisticTraceAnalysis / import and report, {name}", found["asked"], with_report)


def compared(name, peer, own, **bounds):
    ratio = median(theirs[0] / ours[0] for theirs, ours in zip(peer, own))
    seconds, mb = ([median(turn[i] for turn in who) for who in (peer, own)] for i in (0, 1))
    return Figure(name, ratio, "", why=f"{seconds[0]:.2f} s and {mb[0]:.0f} MB beside {seconds[1]:.3f} s and"
                  f" {mb[1]:.0f} MB", **bounds)


def measure():
    files = sorted(FOLDER.glob(SAMPLES))
    if not files:
        raise NotTried(f"no {SAMPLES} in {FOLDER}")
    try:
        python = peers.environment(BUILD / "peers")
    except peers.NotThere as why:
        raise NotTried(str(why)) from why
    for file in files:
        yield from beside(python, file)
