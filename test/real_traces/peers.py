"""What other tools say of a trace, from a run of their own: their names are in PyPI, and they are
installed into an environment below the build folder, nowhere else. What cannot be had is a NotThere with the
reason.

    environment(folder)             its Python, made at the first call
    figures(python, peer, file)     {name: figure}
    readable_by_torch(file, copy)   the file in the names that torch-tb-profiler knows
"""
import gzip
import json
import pathlib
import subprocess
import sys

PACKAGES = ("torch-tb-profiler==0.4.3", "HolisticTraceAnalysis==0.5.0", "xprof==2.24.2", "setuptools<81")
LIMIT_S = 900


# Categories that Kineto writes today, by the names that torch-tb-profiler 0.4.3 knows: it leaves out events
# of any other category, and with them which kernel was launched in which step.
TORCH_KNOWS = {"cuda_runtime": "Runtime", "cuda_driver": "Runtime", "hip_runtime": "Runtime",
               "user_annotation": "cpu_op"}
# It takes these, which lie on the GPU's streams, for ranges of the host, and their steps for additional ones.
TORCH_MISTAKES = ("gpu_user_annotation",)


class NotThere(Exception):
    """Why a tool cannot be run here: no failure."""


# Each is a program of that tool's environment: it reads the file that is its argument, and prints JSON.
PROGRAMS = {
    "torch_us": """
import json, sys
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.event_parser import ProfileRole as Role
costs = RunProfileData.parse("peer", 0, sys.argv[1], ".").avg_costs.costs
names = {"step": Role.Total, "kernel": Role.Kernel, "memcpy": Role.Memcpy, "memset": Role.Memset,
         "communication": Role.Communication, "runtime": Role.Runtime, "dataloader": Role.DataLoader,
         "cpu_exec": Role.CpuOp, "other": Role.Other}
print(json.dumps({name: costs[role] for name, role in names.items()}))
""",
    "hta": """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
names = {"idle": "idle_time_pctg", "compute": "compute_time_pctg", "non_compute": "non_compute_time_pctg"}
print(json.dumps({name: float(row[column]) for name, column in names.items()}))
""",
    "xprof_ms": """
import gzip, json, os, sys
from xprof.convert import raw_to_tool_data
plain = os.path.join(os.getcwd(), "host.xplane.pb")  # it reads no gzip
with gzip.open(sys.argv[1]) as packed, open(plain, "wb") as to:
    to.write(packed.read())
data, _ = raw_to_tool_data.xspace_to_tool_data([plain], "overview_page", {})
known = {}
for table in json.loads(data):
    known.update({name: value for name, value in table.get("p", {}).items()})
names = {"step": "steptime_ms_average", "device_compute": "device_compute_time_ms_avg"}
found = {name: float(str(known[key]).split()[0]) for name, key in names.items() if known.get(key)}
print(json.dumps(found))
""",
}


def run(command, **options):
    try:
        return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=LIMIT_S, check=False, **options)
    except FileNotFoundError as error:
        raise NotThere(f"no {command[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise NotThere(f"{pathlib.Path(str(command[0])).name}: not over after {LIMIT_S} s") from error


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no word"


def environment(folder):
    """The Python in which the tools are. They are asked for again only where it was not made whole."""
    folder = pathlib.Path(folder).resolve()
    python, whole = folder / "bin" / "python", folder / "whole"
    wanted = "\n".join(PACKAGES)
    if whole.exists() and whole.read_text(encoding="utf-8") == wanted:
        return python
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES]):
        done = run(command)
        if done.returncode:
            raise NotThere("peers cannot be installed: " + last_line(done.stderr or done.stdout))
    whole.write_text(wanted, encoding="utf-8")
    return python


def figures(python, peer, file, folder):
    done = run([python, "-c", PROGRAMS[peer], file], cwd=folder)
    if done.returncode:
        raise NotThere(f"{peer}: " + last_line(done.stderr))
    return json.loads(last_line(done.stdout))


def readable_by_torch(file, copy):
    """Whether anything had to be changed. Times and all else stay as they are."""
    with gzip.open(file, "rt", encoding="utf-8", errors="replace") as packed:
        trace = json.load(packed, strict=False)
    events = trace["traceEvents"]
    kept = [event for event in events if event.get("cat") not in TORCH_MISTAKES]
    strange = [event for event in kept if event.get("cat") in TORCH_KNOWS]
    for event in strange:
        event["cat"] = TORCH_KNOWS[event["cat"]]
    trace["traceEvents"] = kept
    with gzip.open(copy, "wt", encoding="utf-8", compresslevel=1) as to:
        json.dump(trace, to)
    return bool(strange) or len(kept) < len(events)
