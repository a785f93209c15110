"""Exporting traces of programs on the box."""
import pathlib
import sqlite3

import box
import chrome_rules
import cli

WORKLOADS = pathlib.Path(__file__).parent / "answer/workloads.py"
# Events of ours cost nothing here: figures are of the program without them, an export is of what was.
KNOBS = {"GPUSIM_CLOCK": "stepped", "GPUSIM_EVENT_NS": 0, "GPUSIM_EVENT_LATENCY_NS": 0,
         "LD_PRELOAD": box.BUILD / "libgpushim.so", "GPUSHIM_BUDGET": "100%"}
STEPS = 40


def rows(path, sql):
    base = sqlite3.connect(path)
    try:
        return base.execute(sql).fetchall()
    finally:
        base.close()


def change(path, sql):
    base = sqlite3.connect(path)
    base.executescript(sql)
    base.close()


def without_own_cost(path):
    """What recording an event takes of a thread is not known any more: figures are then as it ran."""
    change(path, "UPDATE device_clock SET event_ns = NULL, record_ns = NULL")


class Export(cli.Case):
    def export(self, *words, to=None, expect=0):
        to = to or self.folder / "out.json"
        self.said = self.gpushim("export", "chrome", *words, "-o", to, expect=expect)
        return to

    def exported(self, *words, **options):
        data = chrome_rules.read(self.export(*words, **options))
        self.assertEqual(list(chrome_rules.complaints(data)), [])
        return data

    def traced_workload(self, name, devices=1, steps=STEPS):
        trace = self.folder / f"{name}.db"
        knobs = {**KNOBS, "GPUSIM_DEVICES": devices, "GPUSHIM_OUT": trace,
                 "GPUSIM_TRUTH": self.folder / "truth"}
        done = box.run(["python3", WORKLOADS, name, steps], knobs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return trace
