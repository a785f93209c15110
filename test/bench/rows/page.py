"""When the page of a run with a database of 100 MB is painted, in Chromium, and how large it is."""
import os
import pathlib
import subprocess
import sys
import tempfile

from measure import BUILD, QUICK, ROOT, Figure, NotTried

sys.path.append(str(ROOT / "test" / "e2e" / "tools"))
import browser  # noqa: E402
import large_run  # noqa: E402
import trained  # noqa: E402

TIMES = 1 if QUICK else 7


def measure():
    if not browser.program():
        raise NotTried("no Chromium")
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as name:
        folder = pathlib.Path(name)
        run, page = folder / "run.db", folder / "page.html"
        trained.train(folder / "t", large_run.RANKS, "--slow-rank", 3, steps=large_run.STEPS)
        subprocess.run([BUILD / "gpushim", "analyze", folder / "t", "-o", run], check=True)
        large_run.grow(run)
        subprocess.run([BUILD / "gpushim", "report", run, "--html", page], check=True,
                       stdout=subprocess.DEVNULL)
        times = sorted(browser.painted_ms(page) for _ in range(TIMES))
        yield Figure("page of 1,000 ranks, first paint", times[len(times) // 2] / 1e3, "s", at_most=1,
                     why=f"{times[0] / 1e3:.2f} to {times[-1] / 1e3:.2f} s in {TIMES}; of a run of"
                         f" {run.stat().st_size / 1e6:.0f} MB; load {os.getloadavg()[0]:.1f}")
        yield Figure("its size", page.stat().st_size / 1e6, "MB", at_most=2)
