"""Programs of nvcc, for the rows that need them."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from machine import PROGRAMS, OutOfTime, Skip

LIMIT_S = 120


def toolkit():
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        raise Skip("no nvcc")
    return pathlib.Path(nvcc).resolve().parent.parent


def folders():
    """Where its libraries are: an installed one has them in one place, one of packages in another."""
    return [str(folder) for folder in (toolkit() / "lib64", toolkit() / "lib") if folder.exists()]


def libraries():
    """For the loader."""
    return {"LD_LIBRARY_PATH": ":".join([*folders(), os.environ.get("LD_LIBRARY_PATH", "")])}


@contextlib.contextmanager
def compiled(machine, source, *options):
    """A program, as long as it is wanted; Skip where it cannot be made here."""
    with tempfile.TemporaryDirectory(prefix="gpushim-gpu-") as folder:
        limit_s = min(LIMIT_S, machine.left_s())
        program = pathlib.Path(folder) / pathlib.Path(source).stem
        places = [f"-L{folder}" for folder in folders()]
        words = [toolkit() / "bin" / "nvcc", "-o", program, PROGRAMS / source, *places, *options]
        try:
            done = subprocess.run(words, text=True, check=False, timeout=limit_s, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as late:
            raise OutOfTime(f"nvcc: not over after {limit_s:.0f} s") from late
        if done.returncode != 0:
            raise Skip(f"nvcc: {' '.join(done.stdout.split())[-200:]}")
        yield program
