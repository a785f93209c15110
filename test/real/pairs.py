"""Runs a program twice, without the shim and under it, and demands that nobody could tell."""
import os
import pathlib
import re
import subprocess
import tempfile

from judging import demand

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("GPUSHIM_BUILD", "build")
SHIM = BUILD / "libgpushim.so"
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
LIMIT_S = 240
# What a run says of itself: times, processes, addresses.
OWN = re.compile(r"\[\d{4}-\d\d-\d\d [\d:]+\]|:\d+:\d+ \[|0x[0-9a-f]+|^[IWE]\d{4} [\d:.]+ \d+ ")


class Ended(tuple):
    """(status, stdout, stderr) of a program."""

    status, out, err = (property(lambda self, n=n: self[n]) for n in range(3))


def environment(libraries, modules=(), **variables):
    env = {name: text for name, text in os.environ.items() if not name.startswith(("GPUSHIM_", "GPUSIM_"))}
    env["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
    env["PYTHONPATH"] = ":".join(map(str, modules))
    env.pop("LD_PRELOAD", None)
    return {**env, **{name: str(text) for name, text in variables.items()}}


def ended(command, env, stdin=""):
    try:
        done = subprocess.run([str(word) for word in command], env=env, input=stdin, text=True, check=False,
                              timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return Ended((f"not over after {LIMIT_S} s", "", ""))
    return Ended((done.returncode, done.stdout, done.stderr))


def under(command, env, stdin=""):
    """Under the shim; it leaves no trace, for no GPU was used."""
    with tempfile.TemporaryDirectory() as folder:
        more = {"LD_PRELOAD": str(SHIM), "GPUSHIM_OUT": f"{folder}/%p.db"}
        done = ended(command, {**env, **more}, stdin)
        left = sorted(path.name for path in pathlib.Path(folder).iterdir())
    demand(not left, "left behind:", *left)
    return done


def both(command, env, stdin=""):
    return ended(command, env, stdin), under(command, env, stdin)


def first_difference(before, after):
    a, b = before.splitlines(), after.splitlines()
    for one, other in zip(a, b):
        if OWN.sub("", one) != OWN.sub("", other):
            return f"without the shim {one!r}, under it {other!r}"
    return "" if len(a) == len(b) else f"{len(a)} lines without the shim, {len(b)} under it"


def demand_same(without, shimmed):
    demand(without.status == shimmed.status, "ended with", shimmed.status, "instead of", without.status,
           shimmed.err[-300:])
    for part in ("out", "err"):
        differing = first_difference(getattr(without, part), getattr(shimmed, part))
        demand(not differing, differing)


def same(command, env, stdin=""):
    """The run without the shim, and that under it, of which nobody could tell which is which."""
    without, shimmed = both(command, env, stdin)
    demand_same(without, shimmed)
    demand(without.status == 0, "ended with", without.status, without.err[-300:])
    return without
