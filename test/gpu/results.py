"""The check's results: a table for people and the same as JSON, whole on the disk after every row, for the
machine may be taken away."""
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

from machine import BUILD, ROOT

FOLDER = ROOT / "test" / "gpu" / "results"


def described(machine):
    """What this was run on, and with what. What is not to be had is unknown."""
    return {
        "where": "box" if machine.simulated else "gpu",
        "gpus": machine.gpus,
        "driver": "simulated" if machine.simulated else _known(_driver),
        "gpushim": _known(_carried_version, _version_of_repository),
        "host": f"{platform.platform()}, {os.cpu_count()} processors",
        "date": datetime.date.today().isoformat(),
    }


def _known(*ways):
    for way in ways:
        with contextlib.suppress(OSError, IndexError, subprocess.SubprocessError):
            if text := way():
                return text
    return "unknown"


def _driver():
    return pathlib.Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").splitlines()[0]


def _carried_version():
    """A folder that was taken along has no repository."""
    return (BUILD / "version").read_text(encoding="utf-8").strip()


def _version_of_repository():
    return subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], text=True, check=False,
                          timeout=10, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()


class Results:
    def __init__(self, machine, files, order):
        self.files = list(files)
        self.order = order  # of the rows' files; they may come in another
        self.facts = described(machine)
        self.machine = {}  # what it says of itself (facts.py), for the JSON
        self.rows = []
        self.decided_wrong = False  # one of the rows that decide

    def add(self, row, took_s, complete=False):
        """One more of (verdict, row's file, what, found, figures); None: nothing but that it is complete."""
        if row:
            self.rows.append({**dict(zip(("verdict", "row", "what", "found", "figures"), row)),
                              "at_s": round(took_s, 1)})
            self.rows.sort(key=lambda row: self.order.index(row["row"]))
        for file in list(self.files):
            text = self._table if file.suffix == ".md" else self._json
            aside = file.with_name(f".{file.name}.new")
            try:
                aside.write_text(text(took_s, complete), encoding="utf-8")
                aside.replace(file)
            except OSError as why:  # the rows go on, and are printed
                self.files.remove(file)
                print(f"gpu-check: no results in {file}: {why.strerror}", file=sys.stderr, flush=True)

    def count(self, verdict):
        return sum(row["verdict"] == verdict for row in self.rows)

    def _json(self, took_s, complete):
        return json.dumps({**self.facts, "took_s": round(took_s, 1), "complete": complete,
                           "machine": self.machine, "rows": self.rows}, indent=1) + "\n"

    def _table(self, took_s, complete):
        facts = self.facts
        end = f"took: {took_s:.0f} s" if complete else f"**not complete**: all there was after {took_s:.0f} s"
        lines = [f"# {facts['gpus'][0]}, {facts['date']}", "", f"- GPUs: {', '.join(facts['gpus'])}",
                 *(f"- {name}: {facts[name]}" for name in ("driver", "gpushim", "host")), f"- {end}", "",
                 "| | row | what | found |", "|---|---|---|---|"]
        lines += ["| " + " | ".join(_cell(row[name]) for name in ("verdict", "row", "what", "found")) + " |"
                  for row in self.rows]
        return "\n".join(lines) + "\n"


def _cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def kept(machine, folder, part):
    """The files of a run on a GPU; of a part of it, files of their own."""
    gpu = re.sub(r"[^A-Za-z0-9]+", "-", machine.gpus[0]).strip("-").lower()
    folder = _writable(folder)
    words = "-".join([datetime.date.today().isoformat(), gpu, *part.split()])
    return [folder / f"{words}.{kind}" for kind in ("md", "json")]


def _writable(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as why:
        other = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check-"))
        print(f"gpu-check: {folder}: {why.strerror}; results go to {other}", file=sys.stderr, flush=True)
        return other
