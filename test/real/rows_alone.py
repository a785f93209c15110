"""Rows that need no driver: what newest headers and libraries have, beside our tables and declarations."""
import pathlib
import re
import sys

import names
import pairs
from fetch import wheel, wheel_version
from judging import demand
from rows_libraries import RUNTIMES, one
from table import once

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORDER = ROOT / "scripts" / "record-cudart-lookups"
LOOKUPS = ROOT / "test" / "sim" / "cudart" / "lookups.def"
HOOKS = ROOT / "shim" / "calls"
DECLARED = re.compile(r"^(?:CUresult CUDAAPI|ncclResult_t) (\w+)\(", re.M)


@once("newest typedefs")
def newest_typedefs(root):
    folder = wheel(root, "runtime-newest")
    header = one(folder, "cudaTypedefs.h")
    unknown = names.unknown_typedefs(header)
    demand(not unknown, "neither row nor reason in needs_no_row.list:", *unknown)
    there = names.typedefs(header)
    demand(len(there) > 600, "only", len(there), "typedefs")
    gone = [export for export, form in names.box_exports().items()
            if form not in there and not export.startswith("cuProfiler")]  # those have no typedefs
    demand(not gone, "not in the header, or in another version:", *gone)
    return f"{wheel_version(folder)} {len(there)} names in their versions, each known"


def asked_by(root, name):
    """What a runtime looks up: [(name, version)]."""
    library = one(wheel(root, f"runtime-{name}"), "libcudart.so.1?")
    done = pairs.ended([sys.executable, "-B", RECORDER, "--library", library], pairs.environment([]))
    demand(done.status == 0, "record-cudart-lookups:", done.err[-300:])
    rows = re.findall(r"^LOOKUP\((\w*), (\d+), \d+\)", done.out, re.M)
    return done.out, [(base, int(version)) for base, version in rows]


def what_a_runtime_asks(root, name):
    text, asked = asked_by(root, name)
    known = {base for base, _, _ in names.box_exports().values()}
    unknown = names.without_row(sorted({base for base, _ in asked} - known - {""}))
    demand(not unknown, "asks for names that have neither row nor reason:", *unknown)
    forms = {(base, version) for base, version, _ in names.box_exports().values()}
    other = sorted({form for form in asked if form[0] in known and form[1] and form not in forms})
    if name == "13.0":
        demand(text == LOOKUPS.read_text(encoding="utf-8"), "differs from", LOOKUPS.relative_to(ROOT))
    said = f"{len(asked)} look-ups of {len(set(asked))} names in versions"
    return said + (f", {len(other)} in versions without a form of their own" if other else "")


for _name in RUNTIMES:
    once(f"what runtime {_name} asks")(lambda root, name=_name: what_a_runtime_asks(root, name))


def ptx(root, name):
    """`make check` takes whatever ptxas is there; this one is NVIDIA's oldest and newest."""
    folder = wheel(root, f"ptxas-{name}")
    assembler = one(folder, "ptxas")
    assembler.chmod(0o755)  # which unpacking takes away
    done = pairs.ended([ROOT / "test" / "check" / "run", "ptx"], pairs.environment([], PTXAS=assembler))
    demand(done.status == 0, done.out[-300:], done.err[-300:])
    taken = re.search(r"(\d+) texts taken", done.out)
    demand(taken, "was not asked:", done.out[-300:])
    return f"{wheel_version(folder)} takes {taken[1]} texts of this repository"


for _name in ("12.4", "newest"):
    once(f"PTX by ptxas {_name}")(lambda root, name=_name: ptx(root, name))


def declarations(root, header, source, includes):
    """Compiles what we declare beside what the newest header declares; the compiler compares."""
    folder = root / "declared"
    folder.mkdir(parents=True, exist_ok=True)
    text = (HOOKS / header).read_text(encoding="utf-8")
    functions = DECLARED.findall(text)
    demand(functions, "no function is declared in", header)
    bare = re.sub(r'^extern "C" \{$|^\}$|^#pragma once$', "", text, flags=re.M)
    (folder / "ours.h").write_text(bare, encoding="utf-8")
    lines = "".join(f"SAME({name})\n" for name in functions)
    (folder / "functions.inc").write_text(lines, encoding="utf-8")
    program = pathlib.Path(__file__).resolve().parent / "programs" / source
    structs = set(re.findall(r"^typedef (?:struct|enum) (\w+) \{", text, re.M))
    for struct in structs:
        demand(struct in program.read_text(encoding="utf-8"), source, "says nothing of", struct)
    folders = [f"-I{path}" for path in (folder, *includes)]
    done = pairs.ended(["g++", "-std=c++20", "-fsyntax-only", *folders, program], pairs.environment([]))
    wrong = re.findall(r"error: (.*)", done.err)
    demand(done.status == 0, *wrong[:4], done.err[-300:] if not wrong else "")
    return f"{len(functions)} functions and {len(structs)} types as the newest header has them"


@once("our declarations of newer CUDA")
def cuda_declarations(root):
    header = one(wheel(root, "runtime-newest"), "cuda.h")
    return declarations(root, "newer_driver.h", "declared_cuda.cpp", [header.parent])


@once("our declarations of newer NCCL")
def nccl_declarations(root):
    header = one(wheel(root, "nccl"), "nccl.h")
    cuda = one(wheel(root, "runtime-newest"), "cuda_runtime.h")
    crt = one(wheel(root, "crt-newest"), "crt/host_config.h")
    includes = [header.parent, cuda.parent, crt.parent.parent]
    return declarations(root, "newer_nccl.h", "declared_nccl.cpp", includes)


@once("newest NCCL's names")
def nccl_names(root):
    folder = wheel(root, "nccl")
    exported = [name for name in names.exported(one(folder, "libnccl.so.2")) if name.startswith("nccl")]
    unknown = names.without_row(exported)
    demand(not unknown, "neither row nor reason in needs_no_row.list:", *unknown)
    return f"{wheel_version(folder)} {len(exported)} functions, each known"
