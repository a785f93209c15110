"""A launch while recording, against an LTTng-UST tracepoint before and one after it, in a live session."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

import measure as m


@contextlib.contextmanager
def session(folder):
    """A session daemon of our own that records the benchmark's events."""
    os.environ["LTTNG_HOME"] = folder
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], **quiet)
    try:
        for words in (["create", "bench", f"--output={folder}/trace"],
                      ["enable-event", "-u", "gpushim_bench:*"], ["start"]):
            for _ in range(50):  # until the daemon listens
                if subprocess.run(["lttng", "--no-sessiond", *words], check=False, **quiet).returncode == 0:
                    break
                time.sleep(0.1)
            else:
                raise m.NotTried("lttng " + " ".join(words) + " failed")
        yield
        subprocess.run(["lttng", "--no-sessiond", "destroy", "bench"], check=False, **quiet)
    finally:
        daemon.terminate()
        daemon.wait()
        del os.environ["LTTNG_HOME"]


def measure():
    if not shutil.which("lttng-sessiond") or not (m.BENCH / "lttng_pair").exists():
        raise m.NotTried("packages lttng-tools and liblttng-ust-dev are not installed")
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder, session(folder):
        pair = m.added_ns(m.run("lttng_pair"), "traced")
    added = m.added_ns(m.Trace("call_cost", "hot").printed, "through")
    if pair < 10:
        raise m.NotTried(f"the tracepoints cost {pair:.1f} ns: nothing recorded them")
    yield m.Figure("hot launch / LTTng pair", added / pair, "x", at_most=1 / 5, aim=1 / 10,
                   why=f"{added:.1f} ns, pair {pair:.1f} ns")
