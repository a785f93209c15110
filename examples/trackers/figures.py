"""What a tracker of experiments is told of a run: some figures of `gpushim report --json`, and findings."""
import json
import subprocess

# name: (section of the report, key, in which unit). Of GPUs and their energy: the mean.
FIGURES = {
    "step_ms": ("steps", "median_ns", 1e-6),
    "samples_per_s": ("steps", "samples_per_s", 1),
    "tflops_per_gpu": ("flops", "tflops_per_gpu", 1),
    "mfu": ("flops", "mfu", 1),
    "productive_share": ("gpus", "productive_share", 1),
    "idle_share": ("gpus", "idle_share", 1),
    "waiting_for_peer_share": ("gpus", "waiting_for_peer_share", 1),
    "exposed_comm_share": ("gpus", "exposed_comm_share", 1),
    "memory_peak_bytes": ("gpus", "memory_peak_bytes", 1),
}
COLUMNS = ["finding", "title", "least_ms_a_step", "most_ms_a_step", "try"]


def read(run, page):
    """The report as JSON; it is left in `page` as HTML, too."""
    asked = ["gpushim", "report", run, "--json", "--html", page]
    return json.loads(subprocess.run(asked, check=True, stdout=subprocess.PIPE).stdout)


def figures(report):
    """By name; what is not recorded is left out."""
    found = {}
    for name, (section, key, unit) in FIGURES.items():
        of = report[section] or {}
        values = [row[key] for row in (of if isinstance(of, list) else [of]) if row.get(key) is not None]
        if values:
            found[name] = unit * sum(values) / len(values)
    return found


def findings(report):
    """Rows of COLUMNS."""
    return [[one["id"], one["title"], one["gain_low_ns"] / 1e6, one["gain_high_ns"] / 1e6, one["try"]]
            for one in report["findings"]]
