"""Rows about what programs have between themselves and the driver: the same with and without the shim."""
import functools
import os
import sys

import pairs
from fetch import wheel, wheel_version
from judging import Skip, demand
from table import for_each_driver

RUNTIMES = ("12.4", "12.9", "13.0", "newest")
LEVELS = ["0", "1", "1", "0", "-1"]  # of two nested ranges: begun, begun, ended, ended, ended once too often


def one(folder, pattern):
    found = sorted(folder.rglob(pattern))
    demand(found, "no", pattern, "in", folder.name)
    return found[0]


def runtime(driver, name):
    """What its shared and, where the wheel has it, its static form say."""
    driver.demand_no_device()
    folder = wheel(driver.root, f"runtime-{name}")
    said = []
    for kind, pattern in (("shared", "libcudart.so.1?"), ("static", "libcudart_static.a")):
        if kind == "static" and not sorted(folder.rglob(pattern)):
            continue
        library = one(folder, pattern)
        program = compiled(driver.root, f"runtime-{name}-{kind}", "runtime.c", library, "-lrt", "-lpthread")
        env = pairs.environment([driver.folder, library.parent])
        lines = pairs.same([program], env).out.splitlines()
        said.append(f"{kind}: {lines[4].split(',')[0]}")
    return f"{wheel_version(folder)} " + "; ".join(said)


@functools.lru_cache(maxsize=None)
def compiled(root, name, source, *more):
    program = root / "programs" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, pairs.PROGRAMS / source]
    done = pairs.ended([*command, *more, "-ldl"], pairs.environment([]))
    demand(done.status == 0, "does not compile:", done.err[-300:])
    return program


for _name in RUNTIMES:
    for_each_driver(f"runtime {_name}")(lambda driver, name=_name: runtime(driver, name))


def cupti(driver, name):
    driver.demand_no_device()
    library = one(wheel(driver.root, f"cupti-{name}"), "libcupti.so.1?")
    command = [sys.executable, "-B", pairs.PROGRAMS / "cupti_calls.py", library]
    for times in ("event", "cupti"):
        env = pairs.environment([driver.folder, library.parent], GPUSHIM_DEVICE_TIME=times)
        lines = pairs.same(command, env).out.splitlines()
    subscribed = [line for line in lines if line.startswith("cuptiSubscribe: ")]
    refused = subscribed and not any(line.endswith(": 0") for line in subscribed)
    demand(refused, "does not refuse:", *lines[-9:])
    return f"{wheel_version(wheel(driver.root, f'cupti-{name}'))} refuses: {subscribed[0]}"


for _name in ("12.4", "newest"):
    for_each_driver(f"CUPTI {_name}")(lambda driver, name=_name: cupti(driver, name))


@for_each_driver("NVTX 3")
def nvtx(driver):
    folder = wheel(driver.root, "nvtx")
    header = one(folder, "nvtx3/nvToolsExt.h")
    program = compiled(driver.root, "nvtx", "nvtx_calls.c", f"-I{header.parent.parent}")
    without, shimmed = pairs.both([program], driver.env)
    demand(without.status == shimmed.status == 0, "ended with", without.status, shimmed.status)
    demand(set(without.out.split()) <= {"-2", "0"}, "somebody else listens:", *without.out.split())
    demand(shimmed.out.split()[:5] == LEVELS, "levels", *shimmed.out.split()[:5], "instead of", *LEVELS)
    demand((without.err, shimmed.err) == ("", ""), "says", shimmed.err)
    return f"{wheel_version(folder)} without: nobody listens; under the shim its header's levels"


@for_each_driver("cuda-python")
def bindings(driver):
    driver.demand_no_device()
    folders = [wheel(driver.root, name) for name in ("bindings", "pathfinder", "runtime-newest")]
    command = [sys.executable, "-B", pairs.PROGRAMS / "bindings_calls.py"]
    done = pairs.same(command, pairs.environment([driver.folder], folders))
    return f"{wheel_version(folders[0])} {len(done.out.splitlines())} lines the same"


@for_each_driver("CuPy")
def cupy(driver):
    driver.demand_no_device()
    wheels = ("cupy", "numpy", "pathfinder", "runtime-12.9")
    folders = [wheel(driver.root, name) for name in wheels]
    libraries = [driver.folder, *folders[3].rglob("lib")]
    env = pairs.environment(libraries, folders, CUPY_CACHE_DIR=driver.root / "cupy-cache")
    done = pairs.same([sys.executable, "-B", pairs.PROGRAMS / "cupy_calls.py"], env)
    demand("available False" in done.out, "a GPU:", done.out[:300])
    return f"{wheel_version(folders[0])} {len(done.out.splitlines())} lines the same"


@for_each_driver("NCCL")
def nccl(driver):
    driver.demand_no_device()
    library = one(wheel(driver.root, "nccl"), "libnccl.so.2")
    env = pairs.environment([driver.folder], NCCL_DEBUG="WARN")
    done = pairs.same([sys.executable, "-B", pairs.PROGRAMS / "nccl_calls.py", library], env)
    demand("ncclGetUniqueId: 0\n" in done.out, "no unique id:", done.out[:300])
    return f"{wheel_version(wheel(driver.root, 'nccl'))} {len(done.out.splitlines())} lines the same"


@for_each_driver("PyTorch")
def pytorch(driver):
    """Gigabytes, so nothing fetches it."""
    driver.demand_no_device()
    python = os.environ.get("REAL_PYTORCH")
    if not python:
        raise Skip("REAL_PYTORCH names no Python that has PyTorch for CUDA")
    # What the first has compiled, the second would only load.
    env = pairs.environment([driver.folder], TORCHINDUCTOR_FORCE_DISABLE_CACHES=1)
    done = pairs.same([python, "-B", pairs.PROGRAMS / "pytorch_calls.py"], env)
    lines = done.out.splitlines()
    demand(lines and not lines[0].endswith("None"), "this PyTorch is not for CUDA:", *lines[:1])
    demand("available False devices 0" in lines, "a GPU:", *lines[1:2])
    demand("compiled as it is True" in lines, "compiled otherwise:", *lines[-2:])
    return f"{lines[0]} workers by fork and spawn, compiled for the CPU: {len(lines)} lines the same"
