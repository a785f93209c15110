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


def declarations(root, header, source, includes, functions=()):
    """Compiles what we declare beside what the newest header declares; the compiler compares."""
    folder = root / "declared"
    folder.mkdir(parents=True, exist_ok=True)
    text = (HOOKS / header).read_text(encoding="utf-8")
    functions = functions or DECLARED.findall(text)
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


@once("our declarations of cuBLAS")
def cublas_declarations(root):
    text = (HOOKS / "cublas_api.h").read_text(encoding="utf-8")
    asked = re.findall(r"^cublasStatus_t (\w+)\(", text, re.M)
    header = one(wheel(root, "cublas"), "cublas_api.h")
    runtime = one(wheel(root, "runtime-12.9"), "cuda_fp16.h")
    # Behind its C functions are others of their names for C++, which the library does not export.
    of_c = header.read_text(encoding="utf-8").partition("static inline cublasStatus_t cublasMigrate")[0]
    folder = root / "declared" / "of_c"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / header.name).write_text(of_c + "#endif\n#endif\n", encoding="utf-8")
    functions = sorted(names.hooked(["cublas"]) | set(asked))
    return declarations(root, "cublas_api.h", "declared_cublas.cpp", [folder, header.parent, runtime.parent],
                        functions)


@once("cuBLAS's names")
def cublas_names(root):
    """Each with its library's version: so a linker binds them."""
    folder, sim = wheel(root, "cublas"), pairs.BUILD / "sim"
    hooked = names.hooked(["cublas"])
    for library in ("libcublas.so.12", "libcublasLt.so.12"):
        real, box = (set(names.versioned(path)) for path in (one(folder, library), sim / library))
        demand(box <= real, library, "of the box alone has", *sorted(box - real))
        hooked -= {name.split("@")[0] for name in real & box}
    demand(not hooked, "hooked, and not exported by both:", *sorted(hooked))
    return f"{wheel_version(folder)} has all that we hook and all that the box has"


@once("cuBLASLt's descriptions")
def cublaslt_descriptions(root):
    folder = wheel(root, "cublas")
    program = root / "programs" / "descriptions"
    program.parent.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).resolve().parent / "programs" / "descriptions.cpp"
    types = one(wheel(root, "runtime-12.9"), "library_types.h").parent
    built = pairs.ended(["g++", "-std=c++20", f"-I{ROOT}", f"-I{types}", "-o", program, source,
                         HOOKS / "matrix_layout.cpp", "-ldl"], pairs.environment([]))
    demand(built.status == 0, "does not compile:", built.err[-300:])
    done = pairs.ended([program, one(folder, "libcublasLt.so.12")], pairs.environment([]))
    demand((done.status, done.out) == (0, "read\n"), done.out, done.err[-300:])
    return f"{wheel_version(folder)} keeps them where we find them"
