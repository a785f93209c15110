#!/usr/bin/env python3
"""How often `gpushim compare` is right: pairs.py [PAIRS]

Runs of one program on the box, in stepped time, each with a seed of its own for durations that vary and whose
neighbours are alike. Of each pair both runs are recorded anew: PAIRS (100) that are the same, and as many in
which the second one's step is 3 % longer, by its kernels in one half of them and by its copies in the other.
Held to: at most one false alarm in a hundred, 95 found in a hundred, each with its cause.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("GPUSHIM_BUILD", "build")
JOB = ROOT / "test" / "e2e" / "tools" / "nightly_job.py"
STEPS, COPY_MB, KERNELS, KERNEL_US = 400, 2, 10, 100
JITTER, THRESHOLD = 0.03, "1%"
# A step takes 1.12 ms: 1.00 of kernels, 0.08 of the copy of 2 MB at 25 GB/s.
SLOWER = {"compute": {"GPUSIM_SLOW": "0:1.0336"}, "copies": {"GPUSIM_H2D_GBS": 17.6}}


def record(folder, seed, **knobs):
    env = {name: value for name, value in os.environ.items() if not name.startswith("GPUSIM_")}
    env.update({"GPUSIM_BOX": f"pairs.{os.getpid()}.{seed}", "LD_LIBRARY_PATH": str(BUILD / "sim"),
                "GPUSIM_CLOCK": "stepped", "GPUSIM_JITTER": str(JITTER), "GPUSIM_SEED": str(seed),
                "GPUSHIM_BUDGET": "100%", "GPUSHIM_OUT": f"{folder}/%r.%p.db",
                "LD_PRELOAD": str(BUILD / "libgpushim.so")})
    env.update({key: str(value) for key, value in knobs.items()})
    words = [sys.executable, "-B", JOB, STEPS, COPY_MB, KERNELS, KERNEL_US]
    subprocess.run([str(word) for word in words], env=env, check=True, timeout=300)


def compare(pair, cause=None):
    """What is said of a pair: verdict, and cause where there is one."""
    with tempfile.TemporaryDirectory(prefix="gpushim-pairs-") as place:
        base, new = pathlib.Path(place, "base"), pathlib.Path(place, "new")
        for number, folder in enumerate((base, new)):
            folder.mkdir()
            slower = SLOWER[cause] if cause and number else {}
            record(folder, 1 + 4 * pair + 2 * number + (1 if cause else 0), **slower)
        words = [BUILD / "gpushim", "compare", base, new, "--threshold", THRESHOLD, "--json"]
        done = subprocess.run([str(word) for word in words], check=False, timeout=300, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        said = json.loads(done.stdout)
        return said["verdict"], said["cause"], said["step"]["shift_share"]


def counts(said):
    verdicts = [verdict for verdict, _, _ in said]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    causes = [("compute", "copies")[pair % 2] for pair in range(pairs)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        same = list(pool.map(compare, range(pairs)))
        slower = list(pool.map(compare, range(pairs), causes))
    alarms = sum(verdict in ("slower", "faster") for verdict, _, _ in same)
    found = sum(verdict == "slower" for verdict, _, _ in slower)
    right = sum(verdict == "slower" and said == cause for (verdict, said, _), cause in zip(slower, causes))
    widest = max(abs(shift) for _, _, shift in same)
    print(f"{pairs} pairs that are the same: {counts(same)}; medians differ by up to {widest:.2%}")
    print(f"{pairs} pairs 3 % apart: {counts(slower)}; right cause in {right} of {found}")
    is_held = alarms * 100 <= pairs and found * 100 >= 95 * pairs and right == found
    print("held" if is_held else "NOT held: at most 1 in 100 false alarms, 95 found, each with its cause")
    return 0 if is_held else 1


if __name__ == "__main__":
    sys.exit(main())
