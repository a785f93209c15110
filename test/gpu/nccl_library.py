"""Where NCCL is, for programs that load it by its name: where the loader looks, or in PyTorch's packages."""
import ctypes.util
import os
import pathlib

from machine import Skip

PACKAGE = """
import importlib.util
found = importlib.util.find_spec("nvidia.nccl")
print(*(found.submodule_search_locations if found else ()), sep="\\n")
"""


def variables(machine):
    """For the environment. Skip where there is none."""
    if machine.simulated or ctypes.util.find_library("nccl"):
        return {}
    places = machine.run([machine.python, "-c", PACKAGE], {}).stdout.splitlines()
    folders = [pathlib.Path(place) / "lib" for place in places]
    found = [str(folder) for folder in folders if (folder / "libnccl.so.2").exists()]
    if not found:
        raise Skip("no libnccl.so.2 that the loader finds, nor a package with it")
    return {"LD_LIBRARY_PATH": ":".join([*found, os.environ.get("LD_LIBRARY_PATH", "")])}
