"""Rows about the driver itself."""
import json
import re
import sys

import names
import pairs
from judging import Skip, demand
from table import for_each_driver

SIM = pairs.BUILD / "sim"
BOX = pairs.environment([SIM], GPUSIM_DEVICES=0)
NOT_INITIALIZED = 3
OTHER_VERSIONS = (-1, 0, 1999, 99000)
NO_NAMES = {"": [0, 12000], "cuNoSuchFunction": [12000], "cudaMalloc": [12000], "cu": [12000]}
# Where the box answers otherwise before cuInit, on purpose.
BOX_DIFFERS = {
    "cuGetExportTable": "the box has no such tables and refuses each",
}


class Driver:
    """One that was unpacked. `cuda` is the version of CUDA that it has, as 12040."""

    def __init__(self, name, folder, root):
        self.name, self.folder, self.root = name, folder, root
        self.library = folder / "libcuda.so.1"
        self.env = pairs.environment([folder])
        probe = ("import ctypes; d = ctypes.CDLL('libcuda.so.1'); v = ctypes.c_int();"
                 "d.cuDriverGetVersion(ctypes.byref(v)); print(v.value, d.cuInit(0))")
        done = pairs.ended([sys.executable, "-c", probe], self.env)
        demand(done.status == 0, "does not load:", done.err[-200:])
        self.cuda, self.start = map(int, done.out.split())
        self.exports = names.exported(self.library.resolve())

    def demand_no_device(self):
        """On a GPU that this very driver drives, calls with any arguments might do anything."""
        if self.start == 0:
            raise Skip("this driver drives a GPU here")

    def functions(self):
        return [name for name in self.exports if not name.startswith("cudbg")]


def questions(driver):
    """What programs/lookups.py is to ask: every name, each in its versions, just below them, and others."""
    bases = {}
    for base, version, _ in names.box_exports().values():
        bases.setdefault(base, set()).update((version - 1, version))
    for name in driver.exports:
        bases.setdefault(name, set())
    asked = {base: sorted(versions | {*OTHER_VERSIONS, driver.cuda}) for base, versions in bases.items()}
    exports = sorted({*driver.exports, *names.box_exports(), "cuNoSuchFunction"})
    return json.dumps({"exports": exports, "bases": {**asked, **NO_NAMES}})


def look_ups(driver):
    command = [sys.executable, "-B", pairs.PROGRAMS / "lookups.py"]
    return pairs.both(command, driver.env, questions(driver))


def answers(lines):
    """Each without the last two words: which export's the address is, and whose."""
    return "\n".join(line.rsplit(" ", 2)[0] for line in lines)


def demand_same_functions(without, shimmed):
    """Behind each address is the same export's function. Exports that share an address in the driver have
    wrappers of their own under the shim."""
    first = {line.split()[1]: line.split()[-2] for line in without if line.startswith("dlsym ")}
    for before, after in zip(without, shimmed):
        name, given = before.split()[-2], after.split()[-2]
        demand(first.get(given, given) == name, "another function:", before, "|", after)


def demand_ours(shimmed):
    """Under the shim the names that we hook are ours, and no others."""
    hooked = names.hooked()
    for line in shimmed:
        if line.split()[-2] != "-" and line.split()[-1] in ("shim", "driver"):
            demand((line.split()[-1] == "shim") == (line.split()[-2] in hooked), "whose:", line)


@for_each_driver("look-ups")
def same_look_ups(driver):
    without, shimmed = look_ups(driver)
    before, after = without.out.splitlines(), shimmed.out.splitlines()
    pairs.demand_same(pairs.Ended((without.status, answers(before), without.err)),
                      pairs.Ended((shimmed.status, answers(after), shimmed.err)))
    demand(without.status == 0, "ended with", without.status, without.err[-200:])
    demand_same_functions(before, after)
    demand_ours(after)
    ours = sum(line.endswith(" shim") for line in after)
    demand(ours > 1000, "only", ours, "addresses are ours")
    return f"{len(before)} the same, {ours} of them ours, behind each the same function"


def beside_the_box(driver):
    """[(driver's answer, box's answer)] to the same questions about names that both have."""
    asked = json.loads(questions(driver))
    newest = {}
    for base, version, _ in names.box_exports().values():
        newest[base] = max(version, newest.get(base, 0))
    asked["bases"] = {base: versions for base, versions in asked["bases"].items()
                      if newest.get(base, 0) <= driver.cuda and (base in newest or base in NO_NAMES)}
    asked["exports"] = [name for name in names.box_exports() if name in driver.exports]
    command = [sys.executable, "-B", pairs.PROGRAMS / "lookups.py"]
    real, box = (pairs.ended(command, env, json.dumps(asked)).out.splitlines() for env in (driver.env, BOX))
    if "cuGetProcAddress_v2" not in driver.exports:
        box = [line for line in box if not line.startswith("v2")]
    demand(len(real) == len(box) > 0, len(real), "answers of the driver,", len(box), "of the box")
    first = {line.split()[1]: line.split()[-2] for line in real if line.startswith("dlsym ")}
    return [(a, b) for a, b in zip(real, box)], first


@for_each_driver("look-ups, the box's")
def the_box_answers_alike(driver):
    compared, first = beside_the_box(driver)
    for real, box in compared:
        words, others = real.split()[:-1], box.split()[:-1]
        others[-1] = first.get(others[-1], others[-1])
        demand(words == others, "the driver:", real, "| the box:", box)
    return f"{len(compared)} answers are the driver's"


@for_each_driver("names")
def every_name_has_a_row(driver):
    unknown = names.unknown_exports(driver.exports)
    demand(not unknown, "neither row nor reason in needs_no_row.list:", *unknown)
    for export, (_, version, _) in names.box_exports().items():
        demand(version > driver.cuda or export in driver.exports, "the box exports", export, "of", version,
               "and the driver does not")
        demand(version <= driver.cuda or export not in driver.exports, "the driver exports", export,
               "and the box says that it came with", version)
    return f"{len(driver.exports)} exports, each known; of the box's those up to {driver.cuda}"


def calls(driver, *first):
    program = driver.root / "programs" / "calls"
    return [program, "libcuda.so.1", *first], "\n".join(driver.functions())


@for_each_driver("calls before cuInit")
def calls_before_init(driver):
    driver.demand_no_device()
    command, stdin = calls(driver)
    done = pairs.same(command, driver.env, stdin)
    return told(done.out)


@for_each_driver("calls after a failed cuInit")
def calls_after_failure(driver):
    driver.demand_no_device()
    command, stdin = calls(driver, "cuInit")
    return told(pairs.same(command, driver.env, stdin).out)


def told(text):
    lines = [line for line in text.splitlines() if not line.startswith("first ")]
    crashed = sum(" signal " in line for line in lines)
    refused = sum(line.endswith(f" {NOT_INITIALIZED}") for line in lines)
    demand(len(lines) > 1000 and refused > len(lines) / 2, "only", refused, "of", len(lines), "refuse")
    return f"{len(lines)} the same, {refused} of them NOT_INITIALIZED; {crashed} crash by their arguments"


@for_each_driver("calls before cuInit, the box's")
def the_box_refuses_alike(driver):
    """Where the driver says that it is not initialized, or succeeds, the box does. Where the driver looks at
    arguments first the box need not."""
    driver.demand_no_device()
    command, stdin = calls(driver)
    real, box = (by_call(pairs.ended(command, env, stdin).out)
                 for env in (driver.env, BOX))
    compared = 0
    for call, answer in real.items():
        decided = answer in (str(NOT_INITIALIZED), "0 wrote") or call.startswith("cuInit ")
        if not decided or call not in box or call.split()[0] in BOX_DIFFERS:
            continue
        compared += 1
        demand(box[call] == answer, call, "gives", answer, "and the box", box[call])
    demand(compared > 700, "only", compared, "could be compared")
    return f"{compared} refused or answered alike"


def by_call(text):
    """{function and what it was given: what came of it}"""
    return {" ".join(line.split()[:2]): " ".join(line.split()[2:]) for line in text.splitlines()}


@for_each_driver("texts and first calls")
def a_program_without_a_gpu(driver):
    driver.demand_no_device()
    done = pairs.same([sys.executable, "-B", pairs.PROGRAMS / "driver_calls.py"], driver.env)
    texts = len(re.findall(r"^cuGetError", done.out, re.M))
    demand(texts > 100, "only", texts, "texts of errors")
    return f"{len(done.out.splitlines())} lines the same, cuInit answers {driver.start}"


@for_each_driver("NVML")
def nvml(driver):
    if not (driver.folder / "libnvidia-ml.so.1").exists():
        raise Skip("no libnvidia-ml1 came with it")
    driver.demand_no_device()
    done = pairs.same([sys.executable, "-B", pairs.PROGRAMS / "nvml_calls.py"], driver.env)
    functions = names.exported((driver.folder / "libnvidia-ml.so.1").resolve())
    # That one returns an address.
    asked = "\n".join(name for name in functions if name.startswith("nvml") and name != "nvmlErrorString")
    refused = pairs.same([driver.root / "programs" / "calls", "libnvidia-ml.so.1"], driver.env, asked)
    return f"{len(done.out.splitlines())} lines and {len(refused.out.splitlines())} calls the same"
