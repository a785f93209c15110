#!/usr/bin/env python3
"""What `gpushim demo` runs: a case of this gallery on the simulated box, and the report.

    examples/cases/demo.py PROGRAM LIBRARY --list
    examples/cases/demo.py PROGRAM LIBRARY [CASE] [--fixed] [--keep FOLDER]

The box lies in sim/, beside this folder or beside the program.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import gallery

FIRST = "straggler"


def told(name):
    """What is wrong in the case, in the words of its README."""
    text = (gallery.FOLDER / name / "README.md").read_text(encoding="utf-8")
    return re.search(r"\*\*What is wrong\.\*\* (.*)", text)[1]


def arguments():
    parser = argparse.ArgumentParser(prog="gpushim demo", add_help=False)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("case", nargs="?", default=FIRST)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    return parser.parse_args()


def show(name, fixed, folder, kept):
    where = "; the same loop without what is wrong:" if fixed else ":"
    print("SIMULATED: no GPU is used, and no time below is a GPU's.")
    print(f"Case {name}{where} {told(name)}\n", flush=True)
    gallery.record(name, folder, fixed)
    options = gallery.expected(name).get("options", [])
    if kept:
        print(" ".join(["$ gpushim report", str(folder), *options]) + "\n", flush=True)
    code = subprocess.run([gallery.part("gpushim"), "report", folder, *options], check=False).returncode
    more = [] if fixed else [f"without what is wrong: gpushim demo {name} --fixed"]
    more += ["other cases: gpushim demo --list"] + ([] if kept else ["keep the traces: --keep FOLDER"])
    print("\n" + "; ".join(more), file=sys.stderr)
    return code


def main():
    asked = arguments()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # beside the cases: no package would take that away again
    box = gallery.FOLDER.parent / "sim"
    gallery.PLACES.update({"gpushim": asked.program, "libgpushim.so": asked.library,
                           "sim": box if box.is_dir() else asked.program.parent / "sim"})
    gallery.STREAMS["stderr"] = None  # what the library has to say is for the user
    names = gallery.names()
    if asked.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who reads a part of it has read enough
        for name in names:
            print(f"{name:<{max(map(len, names))}}  {told(name)}")
        return 0
    if asked.case not in names:
        print(f"gpushim: there is no case '{asked.case}'; gpushim demo --list has them", file=sys.stderr)
        return 2
    try:
        if asked.keep:
            asked.keep.mkdir(parents=True, exist_ok=True)
            if any(asked.keep.iterdir()):  # a report would be of both runs
                raise RuntimeError(f"{asked.keep} is not empty")
            return show(asked.case, asked.fixed, asked.keep, True)
        with tempfile.TemporaryDirectory(prefix="gpushim-demo-") as folder:
            return show(asked.case, asked.fixed, folder, False)
    except (RuntimeError, OSError) as error:
        print(f"gpushim: {error}", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
