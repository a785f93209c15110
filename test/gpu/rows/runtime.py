"""A program of nvcc, with the runtime shared and linked in: it takes its driver from look-ups."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from machine import PROGRAMS, Row, Skip, one, same

ORDER, LIMIT_S = 13, 60
LAUNCHES = {"first": 300, "second": 70}


def check(machine):
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        raise Skip("no nvcc")
    kinds = ["shared"] if machine.simulated else ["shared", "static"]  # NVIDIA's own runtime refuses the box
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="gpushim-gpu-") as folder:
            program = pathlib.Path(folder) / "runtime"
            done = subprocess.run([nvcc, "-cudart", kind, "-o", program, PROGRAMS / "runtime.cu"], text=True,
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise Skip(f"nvcc: {done.stdout[-200:]}")
            toolkit = f"{pathlib.Path(nvcc).parent.parent}/lib64:{os.environ.get('LD_LIBRARY_PATH', '')}"
            path = {} if machine.simulated else {"LD_LIBRARY_PATH": toolkit}
            _, traces = machine.same_with_and_without([program], **path)
        trace = one(traces)
        same({name: trace.kernels.get(name) for name in LAUNCHES}, LAUNCHES, "launches")
        same(trace.copies.get("h2d"), (10, 10 * 4096), "copies to the device")
        same(trace.copies.get("d2h"), (1, 4096), "copies from the device")
        launches = sum(LAUNCHES.values())
        yield Row(f"a program of nvcc, runtime {kind}", f"{launches} launches, 11 copies, all seen")
