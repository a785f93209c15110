"""Which names there are, and which of them nobody has thought of: what drivers, headers and libraries have
beside the hook tables, the box's list of exports and the list of what needs no row."""
import pathlib
import re

from fetch import run
from judging import Skip

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NO_ROW = pathlib.Path(__file__).resolve().parent / "needs_no_row.list"
EXPORT = re.compile(r"^EXPORT\((\w+), \w+, (\w+), (\d+), (\w+)\)", re.M)
TYPEDEF = re.compile(r"\bPFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)")
HOOK = re.compile(r"^HOOK(_PTDS|_PTSZ|_64)?\((\w+),", re.M)


def hooked(tables=("cuda", "nccl", "cublas")):
    found = set()
    for table in tables:
        text = (ROOT / "shim" / "calls" / f"{table}.def").read_text(encoding="utf-8")
        for twin, name in HOOK.findall(text):
            found |= {name, name + twin.lower()}
    return found


def box_exports():
    """{export: (base, version, suffix)}"""
    text = (ROOT / "test" / "sim" / "exports.def").read_text(encoding="utf-8")
    return {export: (base, int(version), "" if thread == "none" else f"_{thread}")
            for export, base, version, thread in EXPORT.findall(text)}


def typedefs(header):
    """{(base, version, suffix)} that the header has."""
    text = header.read_text(encoding="utf-8")
    return {(base, int(version), suffix) for base, version, suffix in TYPEDEF.findall(text)}


def exported(library):
    """Functions and data that the library exports."""
    done = run(["nm", "-D", "--defined-only", library])
    if done.returncode != 0:
        raise Skip(f"nm: {done.stderr.strip()}")
    return sorted({line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if " A " not in line})


def versioned(library):
    """The same as `name@@version`."""
    done = run(["nm", "-D", "--defined-only", library])
    if done.returncode != 0:
        raise Skip(f"nm: {done.stderr.strip()}")
    return sorted({line.split()[-1] for line in done.stdout.splitlines() if " A " not in line})


def reasons(path=NO_ROW):
    """[(pattern, why it needs no row)]"""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


def without_row(names, path=NO_ROW):
    """Those that are neither hooked nor listed with a reason."""
    patterns = [re.compile(pattern) for pattern, _ in reasons(path)]
    rows = hooked()
    return [name for name in names
            if name not in rows and not any(pattern.fullmatch(name) for pattern in patterns)]


def unknown_exports(names):
    """Of a driver's exports those that the box does not know either."""
    return without_row(sorted(set(names) - box_exports().keys()))


def unknown_typedefs(header):
    known = set(box_exports().values())
    # A name that is hooked in one version is not in another: each form has a row of its own.
    new = [(base, version, suffix) for base, version, suffix in sorted(typedefs(header) - known)]
    patterns = [re.compile(pattern) for pattern, _ in reasons()]
    return [f"PFN_{base}_v{version}{suffix}" for base, version, suffix in new
            if not any(pattern.fullmatch(base + suffix) for pattern in patterns)]
