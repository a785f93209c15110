"""Brings NVIDIA's own parts into a folder: the user-space driver as Debian packages it, and wheels.

Nothing is installed, and no address is kept: apt is asked what this machine's Debian address is, and looks
there with lists, sources and state of its own. What cannot be had raises Skip with the reason.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from judging import Skip

# Each has a driver of its own in `non-free`; sid is asked last, for it usually has trixie's.
SUITES = ("bookworm", "trixie", "experimental", "sid")
PACKAGES = ("libcuda1", "libnvidia-ml1")
QUICKLY = ("-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30")
LIMIT_S = 300

# name: (requirement, MB to download); without a version it is the newest, or, with RELEASES=known, the one
# with which this was last seen to pass: a release of NVIDIA's is not to hold up what has nothing to do with
# it.
WHEELS = {
    "runtime-12.4": ("nvidia-cuda-runtime-cu12==12.4.127", 1),
    "runtime-12.9": ("nvidia-cuda-runtime-cu12==12.9.79", 4),
    "runtime-13.0": ("nvidia-cuda-runtime==13.0.96", 3),
    "runtime-newest": ("nvidia-cuda-runtime", 3),
    "crt-newest": ("nvidia-cuda-crt", 1),
    "cupti-12.4": ("nvidia-cuda-cupti-cu12==12.4.127", 14),
    "cupti-newest": ("nvidia-cuda-cupti", 13),
    "nvtx": ("nvidia-nvtx", 1),
    "ptxas-12.4": ("nvidia-cuda-nvcc-cu12==12.4.131", 22),
    "ptxas-newest": ("nvidia-cuda-nvcc", 47),
    "bindings": ("cuda-bindings", 9),
    "pathfinder": ("cuda-pathfinder", 1),
    # For CUDA 12, or Debian's drivers would be too old for them to go further.
    "nccl": ("nvidia-nccl-cu12", 306),
    "cublas": ("nvidia-cublas-cu12", 581),
    "cupy": ("cupy-cuda12x", 137),
    "numpy": ("numpy", 17),
}
KNOWN = {"runtime-newest": "13.5.37", "ptxas-newest": "13.5.37", "crt-newest": "13.5.37",
         "cupti-newest": "13.5.25", "nvtx": "13.5.25", "bindings": "13.5.0",
         "pathfinder": "1.9.0", "nccl": "2.32.3", "cublas": "12.9.3.13", "cupy": "14.2.0"}
BIG = ("nccl", "cublas", "cupy", "numpy", "ptxas-12.4")


def run(command, **options):
    """The finished process; a Skip where the command is missing or takes too long."""
    try:
        return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              **options)
    except FileNotFoundError as error:
        raise Skip(f"no {command[0]} on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise Skip(f"{command[0]}: not over after {LIMIT_S} s") from error


def last_line(text):
    lines = [line for line in text.splitlines() if re.match(r"(E|ERROR|Err)\b", line)] or text.splitlines()
    return without_addresses(lines[-1].strip()) if lines else "it said nothing"


def without_addresses(text):
    return re.sub(r"\w+://\S+", "(address)", text)


def debian_address():
    """Where this machine gets its own Debian from."""
    facts = pathlib.Path("/etc/os-release")
    codename = re.search(r"^VERSION_CODENAME=(\w+)", facts.read_text(encoding="utf-8"), re.M)
    asked = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"])
    for line in asked.stdout.splitlines():
        address, _, release = line.partition(" ")
        if codename and release == codename.group(1) and address.rstrip("/").endswith("debian"):
            return address
    raise Skip("apt on this machine has no Debian address")


class Apt:
    """apt with lists and state of its own, for one source; it never looks at or changes the machine's."""

    def __init__(self, folder, source):
        for part in ("state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "state" / "status").touch()
        self.folder = folder
        self.options = [word for option in (
            f"Dir::State={folder}/state", f"Dir::State::status={folder}/state/status",
            f"Dir::Cache={folder}/cache", f"Dir::Etc::sourcelist={source}", "Dir::Etc::sourceparts=-",
            "APT::Sandbox::User=", "APT::Get::List-Cleanup=0") for word in ("-o", option)]
        done = run(["apt-get", *self.options, *QUICKLY, "update"])
        if done.returncode != 0 or not any((folder / "state" / "lists").glob("*Packages*")):
            raise Skip(f"apt-get update: {last_line(done.stderr)}")

    def versions(self, package):
        """Newest first."""
        listed = run(["apt-cache", *self.options, "madison", package]).stdout.splitlines()
        return [line.split("|")[1].strip() for line in listed]

    def unpack(self, package, version, folder):
        with tempfile.TemporaryDirectory(dir=self.folder) as here:
            command = ["apt-get", *self.options, *QUICKLY, "download", f"{package}={version}"]
            done = run(command, cwd=here)
            found = list(pathlib.Path(here).glob("*.deb"))
            if done.returncode != 0 or not found:
                raise Skip(f"apt-get download {package}: {last_line(done.stderr)}")
            done = run(["dpkg-deb", "-x", found[0], folder])
            if done.returncode != 0:
                raise Skip(f"dpkg-deb: {last_line(done.stderr)}")


def major(version):
    return version.split(":")[-1].split(".")[0]


def drivers_of(apt, folder):
    """Unpacks the newest of each major version that the folder does not have; libcuda1 first."""
    for version in apt.versions(PACKAGES[0]):
        target = folder / major(version)
        if target.exists():
            continue
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            apt.unpack(PACKAGES[0], version, beside)
            if version in apt.versions(PACKAGES[1]):
                apt.unpack(PACKAGES[1], version, beside)
            # All or nothing: a folder that is there is whole.
            shutil.copytree(beside, folder / f"{target.name}.new", symlinks=True)
        (folder / f"{target.name}.new").rename(target)


def sources(work):
    """[(what it is, file for apt)]: Debian's suites, and what REAL_DRIVER_SOURCES names."""
    found, why_not = [], []
    try:
        address = debian_address()
        for suite in SUITES:
            path = work / f"{suite}.list"
            path.write_text(f"deb [arch=amd64] {address} {suite} non-free\n", encoding="utf-8")
            found.append((suite, path))
    except (OSError, Skip) as why:
        why_not.append(("Debian", str(why)))
    named = os.environ.get("REAL_DRIVER_SOURCES")
    if named and pathlib.Path(named).is_file():
        found.append((pathlib.Path(named).name, pathlib.Path(named).resolve()))
    elif named:
        why_not.append(("REAL_DRIVER_SOURCES", "the file that it names is not there"))
    return found, why_not


def drivers(root):
    """({major version: folder with libcuda.so.1}, [(source, why nothing came from it)])."""
    folder, work = root / "drivers", root / "apt"
    folder.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    found, why_not = sources(work)
    for name, source in found:
        if (work / f"{name}.done").exists() and not os.environ.get("REAL_DRIVER_SOURCES"):
            continue
        try:
            drivers_of(Apt(work / name, source), folder)
            (work / f"{name}.done").touch()
        except Skip as why:
            why_not.append((name, str(why)))
    there = {path.parents[len(path.relative_to(folder).parts) - 2].name: path.parent
             for path in folder.rglob("libcuda.so.1")}
    return dict(sorted(there.items())), why_not


def wheel(root, name):
    """The folder with the unpacked wheel."""
    requirement, megabytes = WHEELS[name]
    if os.environ.get("RELEASES") == "known" and name in KNOWN:
        requirement += "==" + KNOWN[name]
    folder = root / "wheels" / name
    if folder.exists():
        return folder
    if name in BIG and not os.environ.get("FULL"):
        raise Skip(f"FULL=1 downloads {requirement} ({megabytes} MB)")
    if run([sys.executable, "-m", "pip", "--version"]).returncode != 0:
        raise Skip("no pip on this machine")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        done = run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:",
                    "--retries", "1", "--timeout", "30", "--disable-pip-version-check", "-d", beside,
                    requirement])
        found = list(pathlib.Path(beside).glob("*.whl"))
        if done.returncode != 0 or not found:
            raise Skip(f"pip download {requirement}: {last_line(done.stderr)}")
        with zipfile.ZipFile(found[0]) as packed:
            packed.extractall(pathlib.Path(beside) / "unpacked")
        (pathlib.Path(beside) / "unpacked").rename(folder)
    return folder


def wheel_version(folder):
    names = [path.stem for path in folder.glob("*.dist-info")]
    return names[0].split("-")[1] if names else "?"
