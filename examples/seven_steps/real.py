"""Runs a script in PyTorch under the shim, on this machine."""
import json
import os
import pathlib
import subprocess
import sys

import gallery
from runs_table import Failed, Run


def run_here(command, variables):
    around = {name: value for name, value in os.environ.items()
              if not name.startswith(("GPUSIM_", "GPUSHIM_"))}
    return subprocess.run(command, env={**around, **variables}, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def record(script, options, place, tag, run=run_here, library=None, python=sys.executable):
    """The folder is made, and has the trace of the script's own process alone: those of its loaders, should
    they call the driver, go beside it. Everything is timed, for a short run has few windows; GPUSHIM_BUDGET
    says otherwise."""
    place = pathlib.Path(place)
    place.mkdir(parents=True)
    done = run([str(word) for word in (python, "-B", script, *options)], {
        "GPUSHIM_BUDGET": os.environ.get("GPUSHIM_BUDGET", "100%"), "GPUSHIM_OUT": f"{place}/%p.db",
        "GPUSHIM_TAG": tag, "LD_PRELOAD": str(library or gallery.BUILD / "libgpushim.so")})
    if done.returncode:
        raise Failed(f"{tag}: exit code {done.returncode}: {done.stderr[-2000:].strip()}")
    told = json.loads(done.stdout.splitlines()[-1])
    for trace in list(place.glob("*.db*")):
        if trace.name.split(".")[0] != str(told["pid"]):
            trace.rename(place.with_name(f"{place.name}.{trace.name}"))
    return Run(place.name, told, gallery.report_of(place, may_warn=True) if any(place.iterdir()) else None)
