"""Importing Kineto traces: text per second of a processor, plain and packed, and the most memory; beside
unpacking alone."""
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from measure import BUILD, QUICK, ROOT, Figure

MEGABYTES = 50 if QUICK else 500
MAX_RESIDENT_MB = 300
MADE_BY = ROOT / "test" / "bench" / "kineto_file.py"


def imported(path, folder):
    """Seconds of processors, and the most memory in MB."""
    child = subprocess.Popen([BUILD / "gpushim", "import", "kineto", path, "-o", folder / "run.db",
                              "--keep-traces", folder / "traces"])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"gpushim import ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def unpacked_s(path):
    begin = time.monotonic()
    subprocess.run(f"gzip -dc {path} | wc -c", shell=True, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def measure():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain, packed = folder / "trace.json", folder / "trace.json.gz"
        subprocess.run([sys.executable, MADE_BY, plain, str(MEGABYTES)], check=True)
        # Piece by piece: a child's most memory begins with what its parent has.
        with open(plain, "rb") as text, gzip.open(packed, "wb", compresslevel=1) as file:
            shutil.copyfileobj(text, file)
        megabytes = plain.stat().st_size / 1e6
        for path, what in ((plain, "plain"), (packed, "gzip")):
            seconds, resident_mb = imported(path, folder)
            why = f"of {megabytes:.0f} MB, with the analysis of the trace"
            if path == packed:
                why += f"; gzip -dc | wc -c: {megabytes / unpacked_s(path):.0f} MB/s"
            yield Figure(f"Kineto import, {what}", megabytes / seconds, "MB/s", at_least=100, why=why)
        yield Figure("Kineto import, memory", resident_mb, "MB", at_most=MAX_RESIDENT_MB)
