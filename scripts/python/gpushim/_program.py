"""Where the program and the library are, and what the program answers."""
import os
import shutil
import sys
import warnings
from typing import List, NoReturn, Sequence

_HERE = os.path.dirname(os.path.abspath(__file__))
# In a wheel they are below the module; a tarball has them in folders beside the module's; where they were
# installed, the module is below lib/python3 of the same prefix.
_ABOVE = [os.path.join(_HERE, *[".."] * levels) for levels in (2, 4)]
_PROGRAMS = [os.path.join(_HERE, "_lib", "gpushim"), *(os.path.join(at, "bin", "gpushim") for at in _ABOVE)]
_LIBRARIES = [os.path.join(_HERE, "_lib", "libgpushim.so"),
              *(os.path.join(at, "lib", "libgpushim.so") for at in _ABOVE)]
_MISUSED = 2


class Failure(Exception):
    """What the program says why there is no answer."""


def lib_path() -> str:
    """For LD_PRELOAD: a path, or the name by which an installed library is found."""
    found = [path for path in _LIBRARIES if os.path.exists(path)]
    return os.path.normpath(found[0]) if found else "libgpushim.so"


def program_path() -> str:
    """The program gpushim: of this package, or the one that is installed."""
    found = [path for path in _PROGRAMS if os.path.exists(path)]
    path = os.path.normpath(found[0]) if found else shutil.which("gpushim")
    if path is None:
        raise Failure("the program gpushim is not in the PATH")
    return path


def main() -> NoReturn:
    """Becomes the program."""
    try:
        program = program_path()
    except Failure as failure:
        sys.exit(f"gpushim: {failure}")
    os.execv(program, ["gpushim", *sys.argv[1:]])


def as_path(path: "os.PathLike[str] | str") -> str:
    """A path is no option, however it begins."""
    text = os.fspath(path)
    return os.path.join(".", text) if text.startswith("-") else text


def answer(words: Sequence[str]) -> str:
    """What the program prints. What it says beside an answer that has a status is a warning: that a trace
    could not be read, or that the job hangs."""
    import subprocess  # a program that only sets marks does without

    done = subprocess.run([program_path(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    said = "; ".join(_plain(done.stderr.decode("utf-8", "replace")))
    if done.returncode == _MISUSED or done.returncode < 0 or not done.stdout:
        raise Failure(said or f"gpushim gave no answer, and ended with {done.returncode}")
    if done.returncode != 0:
        warnings.warn(said or f"gpushim ended with {done.returncode}", stacklevel=3)
    return done.stdout.decode("utf-8", "replace")


def _plain(text: str) -> List[str]:
    lines = [line[len("gpushim: "):] if line.startswith("gpushim: ") else line for line in text.splitlines()]
    return [line for line in lines if line]
