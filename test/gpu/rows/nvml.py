"""Our samples of NVML beside what nvidia-smi says at the same time, while a program keeps the GPU busy. The
box has no nvidia-smi: there NVML is asked directly."""
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import nvml_words
from machine import BUILD, Row, Skip, demand

ORDER, LIMIT_S = 61, 25
LAUNCHES, PAUSE_NS = 250_000, 18_000  # of 20 us: half a dozen seconds
ASKED = 5


def check(machine):
    smi = None if machine.simulated else shutil.which("nvidia-smi")
    if not machine.simulated and not smi:
        raise Skip("no nvidia-smi")
    command = [sys.executable, "-B", nvml_words.__file__] if machine.simulated else \
        [smi, f"--query-gpu={','.join(nvml_words.QUERY)}", "--format=csv,noheader,nounits"]
    with tempfile.TemporaryDirectory(prefix="gpushim-nvml-") as folder:
        trace = pathlib.Path(folder) / "trace.db"
        said = asked_meanwhile(machine, command, trace)
        uuid, samples = sampled(trace)
    if uuid.startswith("MIG"):
        raise Skip("a part of a GPU: nvidia-smi tells of the whole")
    mine = [(at, words) for at, words in said if words.get("uuid") == uuid]
    demand(mine, "no line of", pathlib.Path(str(command[-1])).name, "is of", uuid)
    yield compared(mine, samples, "NVML itself" if machine.simulated else "nvidia-smi")


def asked_meanwhile(machine, command, trace):
    """[(CLOCK_MONOTONIC, {column: text})] while a program runs under the shim."""
    work = [BUILD / "gpu" / "pace", LAUNCHES // (2 if machine.simulated else 1), PAUSE_NS, "busy__20us"]
    variables = {"LD_PRELOAD": machine.library, "GPUSHIM_OUT": trace}
    said = []
    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(machine.plain, work, **variables)
        time.sleep(1.5)  # the first sample is there, and the load has been seen
        while len(said) < ASKED and not running.done():
            before_ns = time.monotonic_ns()
            done = machine.run(command, {})
            if done.returncode != 0:
                raise Skip(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
            middle_ns = (before_ns + time.monotonic_ns()) // 2
            said += [(middle_ns, nvml_words.read(line)) for line in done.stdout.splitlines()]
            time.sleep(0.5)
        running.result()
    return said


def sampled(trace):
    """The GPU's uuid, as nvidia-smi has it, and [(mono_ns, {key: value})]."""
    base = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
    try:
        uuid = base.execute("SELECT uuid FROM device WHERE id = 0").fetchone()
        found = {}
        for mono_ns, key, value in base.execute("SELECT mono_ns, key, value FROM nvml WHERE device_id = 0"):
            found.setdefault(mono_ns, {})[key] = value
    finally:
        base.close()
    demand(found, "no sample of NVML in the trace")
    return uuid[0] if uuid else "", sorted(found.items())


def compared(said, samples, whose):
    found = nvml_words.compare(said, samples)
    for column, beside in found.items():
        demand(not beside.outside, column, f"by {whose}:", "; ".join(beside.outside[:3]))
    demand(any(beside.compared for beside in found.values()), "nothing is told by both")
    told = ", ".join(f"{column} " + (beside.example if beside.compared else "not told by both")
                     for column, beside in found.items())
    return Row(f"{whose} and our samples", f"{told}; {max(one.compared for one in found.values())} times",
               {column: beside._asdict() for column, beside in found.items()})
