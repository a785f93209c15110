"""Instructions that a recorded launch adds, counted by callgrind; no clock is involved. With host times only:
whether a window of device times is open during these launches depends on how quickly the counting goes."""
import re
import shutil
import tempfile

import measure as m

LAUNCHES = 1000  # as in call_cost.cpp
TURNS = 3        # a thread that was stopped in between says so in a row, and that is counted, too


def counted(way):
    """Instructions inside that function of call_cost, all that it called included."""
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--collect-atstart=no",
                f"--toggle-collect=bench::launch_{way}(bench::Driver const&, int)"]
        m.run("call_cost", "instructions", preload=m.SHIM, out=folder, before=tool, GPUSHIM_DEVICE_TIME="off")
        with open(f"{folder}/out", encoding="utf-8") as file:
            totals = re.findall(r"^(?:summary|totals): (\d+)", file.read(), re.MULTILINE)
    return int(totals[0]) / LAUNCHES


def measure():
    if not shutil.which("valgrind"):
        raise m.NotTried("valgrind is not installed")
    plain, through = (min(counted(way) for _ in range(TURNS)) for way in ("plain", "through"))
    yield m.Figure("instructions added per launch", through - plain, "", aim=120,
                   why=f"{through:.1f} with, {plain:.1f} without")
