"""Folders as `make install` lays them out, and Debian packages and tarballs of folders. The same files give
the same bytes: neither the time, nor the folder, nor who packs shows."""
import gzip
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CROSS = os.environ.get("CROSS", "")  # what the tools of another processor begin with


def run(*words, **variables):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LC_ALL": "C", **variables}).stdout


def installed(build, tree, prefix, python, pc_prefix=""):
    """What `make install` installs, below tree; the Python module in the folder `python` of the prefix."""
    run(ROOT / "scripts/install", "install", GPUSHIM_BUILD=str(build), DESTDIR=str(tree), PREFIX=prefix,
        PYTHONDIR=python, PC_PREFIX=pc_prefix or prefix)


def python_module():
    """{path: content}, for `import gpushim`."""
    with tempfile.TemporaryDirectory(prefix="gpushim-module-") as name:
        run(ROOT / "scripts/python/make-module", name)
        files = sorted(path for path in pathlib.Path(name).rglob("*") if path.is_file())
        return {str(path.relative_to(name)): path.read_bytes() for path in files}


def move(file, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    file.rename(to)


def take_debug_files(tree):
    """[(the program or library, what debuggers read of it)]; both below tree until they are moved."""
    return [(file.parent.parent / file.stem, file) for file in sorted(tree.rglob(".debug/*.debug"))]


def without_empty_folders(tree):
    for folder in sorted((path for path in tree.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def processor_of(file):
    """As the kernel calls it."""
    named = re.search(r"Machine: +(.*)", run("readelf", "-h", file))[1]
    return {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}[named]


def build_id(file):
    return re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", file))[1]


def is_program(path):
    with open(path, "rb") as file:
        start = file.read(4)
    return start == b"\x7fELF" and path.suffix != ".debug" and ".so" not in path.name or start[:2] == b"#!"


def settle(tree, made):
    """Times and rights that do not depend on who makes it."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or is_program(path) else 0o644)
        os.utime(path, (made, made), follow_symlinks=False)


BOX_LIBRARIES = ("libcuda.so.1", "libgpusim.so", "libnccl.so.2", "libnvidia-ml.so.1")
CASE_FILES = ("communicator.py", "demo.py", "gallery.py", "gpu.py", "loop.py", "profiled.py")


def strip(file, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    run(f"{CROSS}strip", "--strip-unneeded", "-o", to, file)


def simulated_box(build, folder):
    """What `gpushim demo` looks for: those of the box's libraries that the cases load, and the cases."""
    for library in BOX_LIBRARIES:
        strip(build / "sim" / library, folder / "sim" / library)
    cases = ROOT / "examples/cases"
    files = [cases / name for name in CASE_FILES]
    files += [file for case in sorted(cases.glob("*/case.py"))
              for file in sorted(case.parent.iterdir()) if file.is_file()]
    for file in files:
        to = folder / "cases" / file.relative_to(cases)
        to.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8")  # no program by itself: `gpushim demo` names the interpreter
        to.write_text(text.partition("\n")[2] if text.startswith("#!") else text, encoding="utf-8")
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_elf(file):
    with open(file, "rb") as content:
        return content.read(4) == b"\x7fELF"


def control_of(fields):
    return "".join(f"{key}: {value}\n" for key, value in fields.items())


def deb(tree, file, fields, made, more=None, packing=("-z1",)):
    """fields: of the control file; Installed-Size is added. more: {name: text} of what lies beside it."""
    size_kb = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(control_of({**fields, "Installed-Size": max(size_kb, 1)}),
                                         encoding="utf-8")
    for name, text in (more or {}).items():
        (tree / "DEBIAN" / name).write_text(text, encoding="utf-8")
    settle(tree, made)
    run("dpkg-deb", "--root-owner-group", *packing, "-b", tree, file, SOURCE_DATE_EPOCH=str(made))
    return file


def tarball(tree, file, made):
    """Of the folder itself, in which all of it lies."""
    settle(tree, made)
    with open(file, "wb") as raw, \
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=made) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted([tree, *tree.rglob("*")]):
                entry = tar.gettarinfo(path, path.relative_to(tree.parent))
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = "root"
                entry.mtime = made
                if entry.isreg():
                    with open(path, "rb") as content:
                        tar.addfile(entry, content)
                else:
                    tar.addfile(entry)
    return file
