"""When the page of a fleet of 4,096 ranks is painted, in Chromium, and how large it is: a job a day for
a month on 512 hosts, of hand-made rows."""
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile

from measure import BUILD, QUICK, ROOT, Figure, NotTried

sys.path.append(str(ROOT / "test" / "e2e" / "tools"))
import browser  # noqa: E402
import made_fleet  # noqa: E402

HOSTS, DAYS, TIMES = (16, 3, 1) if QUICK else (512, 30, 7)


def make(folder):
    fleet = made_fleet.MadeFleet()
    gpus = [(f"node-{host:03}", f"GPU-{host:03}-{gpu}", 12 if (host, gpu) == (7, 3) else 10)
            for host in range(HOSTS) for gpu in range(8)]
    for day in range(DAYS):
        date = datetime.date(2026, 1, 1) + datetime.timedelta(days=day)
        fleet.add_run(day, date.isoformat(), gpus, 12)
    fleet.write(folder)
    fleet.close()


def measure():
    if not browser.program():
        raise NotTried("no Chromium")
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as made:
        folder = pathlib.Path(made)
        page = folder / "fleet.html"
        make(folder)
        subprocess.run([BUILD / "gpushim", "report", "--fleet", folder, "--html", page], check=True,
                       stdout=subprocess.DEVNULL)
        times = sorted(browser.painted_ms(page) for _ in range(TIMES))
        name = f"page of a fleet of {8 * HOSTS:,} ranks, first paint"
        yield Figure(name, times[len(times) // 2] / 1e3, "s", at_most=None if QUICK else 2,
                     why=f"{times[0] / 1e3:.2f} to {times[-1] / 1e3:.2f} s in {TIMES}; {DAYS} days;"
                         f" load {os.getloadavg()[0]:.1f}")
        yield Figure("its size", page.stat().st_size / 1e6, "MB", at_most=3)
