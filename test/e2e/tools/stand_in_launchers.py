#!/usr/bin/env python3
"""Programs of the README that a test does not have, or must not let loose on its machine, under their names
(one link each). Each reads the options that the README uses as the real one does, refuses any other, and runs
the rest of the line with the environment that the real one would hand on.

    STAND_IN_ROOT: where apt and pip install to    STAND_IN_IMAGE: what a container has, NAME=VALUE;…
"""
import argparse
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("STAND_IN_ROOT", "."))  # a test imports this for install() only


class Line(argparse.ArgumentParser):
    """Options, then somebody else's command line."""

    def __init__(self, name, command="command"):
        super().__init__(prog=name, allow_abbrev=False)
        self.add_argument(command, nargs=argparse.REMAINDER)


def ranks(command, count, names, env, **more):
    """Runs it once for each rank; names: what this launcher calls rank, local rank and number of ranks."""
    running = []
    for rank in range(count):
        its = dict(zip(names, (str(rank), str(rank), str(count))))
        running.append(subprocess.Popen(command, env={**env, **more, **its}))
    return max(process.wait() for process in running)


def assignment(text):
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"\w+", name):
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return name, value


def torchrun(words):
    """The script is run by Python; the workers inherit all of the environment."""
    line = Line("torchrun")
    line.add_argument("--standalone", action="store_true", required=True)  # else it needs a rendezvous
    line.add_argument("--nproc-per-node", "--nproc_per_node", type=int, required=True)
    given = line.parse_args(words)
    return ranks(["python", *given.command], given.nproc_per_node, ("RANK", "LOCAL_RANK", "WORLD_SIZE"),
                 os.environ)


def srun(words):
    """What --export does not name does not reach the tasks, but for SLURM's own."""
    line = Line("srun")
    line.add_argument("--ntasks", "-n", type=int, required=True)
    line.add_argument("--export", default="ALL", type=lambda text: text.split(","))
    given = line.parse_args(words)
    env = dict(os.environ) if "ALL" in given.export else {}
    env.update(assignment(text) for text in given.export if text != "ALL")
    return ranks(given.command, given.ntasks, ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"), env,
                 SLURM_JOB_ID="17")


def mpirun(words):
    """A rank on another host has that host's environment, and what -x names."""
    line = Line("mpirun")
    line.add_argument("-np", "-n", type=int, required=True)
    line.add_argument("-x", type=assignment, action="append", default=[])
    given = line.parse_args(words)
    env = {name: value for name, value in os.environ.items() if not re.match("LD_PRELOAD|GPUSHIM_", name)}
    names = [f"OMPI_COMM_WORLD_{what}" for what in ("RANK", "LOCAL_RANK", "SIZE")]
    return ranks(given.command, given.np, names, {**env, **dict(given.x)})


def mount(text):
    source, target, *how = text.split(":")
    if how not in ([], ["ro"], ["rw"]) or not os.path.isabs(source) or not os.path.isabs(target):
        raise argparse.ArgumentTypeError(f"{text} is not /SOURCE:/TARGET[:ro]")
    for there in (pathlib.Path(source), ROOT / source.lstrip("/")):
        if there.exists():
            return target, str(there)
    raise argparse.ArgumentTypeError(f"{source} is not there: docker would make an empty folder")


def docker(words):
    """Nothing of the caller's environment; paths are the container's, and lead to what was mounted there."""
    line = Line("docker run")
    line.add_argument("--gpus", choices=["all"], required=True)
    line.add_argument("--shm-size", type=lambda text: re.fullmatch(r"(\d+)g", text)[1], required=True)
    line.add_argument("-v", type=mount, action="append", default=[])
    line.add_argument("-w", required=True)
    line.add_argument("-e", type=assignment, action="append", default=[])
    if words[0] != "run":
        sys.exit(f"docker {words[0]}: only run is known here")
    given = line.parse_args(words[1:])

    def outside(path):
        return next(there + path[len(target):] for target, there in given.v
                    if path == target or path.startswith(target + "/"))

    env = {name: outside(value) if name == "LD_PRELOAD" else value for name, value in given.e}
    env.update(assignment(text) for text in os.environ["STAND_IN_IMAGE"].split(";"))
    image, *command = given.command
    if not re.fullmatch(r"[\w./:-]+", image):
        sys.exit(f"docker: {image} is no image")
    return subprocess.run(command, env=env, cwd=outside(given.w), check=False).returncode


def sudo(words):
    if words[0].startswith("-"):
        sys.exit(f"sudo: {words[0]} is not known here")
    return subprocess.run(words, check=False).returncode


def apt(words):
    """Unpacks the package into STAND_IN_ROOT. A name without a slash would be looked for in the archive."""
    action, *files = words
    if action != "install" or not files or not all("/" in file and file.endswith(".deb") for file in files):
        sys.exit(f"apt {' '.join(words)}: wanted `install` and files with a path")
    for file in files:
        subprocess.run(["dpkg-deb", "-x", file, str(ROOT)], check=True)
    return 0


def pip(words):
    """The real one, where this Python has it; but into a folder of STAND_IN_ROOT, and without network."""
    if words[0] != "install" or any(word.startswith("-") for word in words) or len(words) != 2:
        sys.exit(f"pip {' '.join(words)}: wanted `install` and one file")
    if importlib.util.find_spec("pip") is None:
        return 0 if pathlib.Path(words[1]).is_file() else 1
    quietly = ["install", "--quiet", "--no-index", "--disable-pip-version-check"]
    return subprocess.run([sys.executable, "-m", "pip", *quietly, "--target", str(ROOT / "site"), words[1]],
                          check=False).returncode


def make(words):
    """Only looks whether the Makefile here has those targets: CI runs them, on a bare system."""
    rules = pathlib.Path("Makefile").read_text(encoding="utf-8")
    for target in words:
        if not re.search(rf"^([\w-]+ )*{target}( [\w-]+)*:", rules, re.M):
            sys.exit(f"make: no rule to make target '{target}'")
    return 0


PROGRAMS = (torchrun, srun, mpirun, docker, sudo, apt, pip, make)


def install(folder):
    """Links of all names in that folder, and `python`, which Debian has as python3 only."""
    folder.mkdir(parents=True)
    for program in PROGRAMS:
        itself = f'{sys.executable} -B {__file__} {program.__name__} "$LD_PRELOAD" "$@"'
        text = f"#!/bin/sh\nexec env -u LD_PRELOAD {itself}\n"
        (folder / program.__name__).write_text(text, encoding="utf-8")
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -B "$@"\n', encoding="utf-8")
    for file in folder.iterdir():
        file.chmod(0o755)


def main():
    name, preload, *words = sys.argv[1:]
    if preload:
        os.environ["LD_PRELOAD"] = preload
    return {program.__name__: program for program in PROGRAMS}[name](words)


if __name__ == "__main__":
    sys.exit(main())
