"""Runs programs with and without libgpushim.so in front of them, and reads what that left behind."""
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import unittest

import box
import in_memory

SHIM, ANALYZER = box.LIBRARY, box.PROGRAM

# Calls that cost nothing: a test that is not about time is over soon.
QUICK = {name: 0 for name in ("GPUSIM_LAUNCH_NS", "GPUSIM_EVENT_NS", "GPUSIM_CALL_NS")}


# A library behind the shim that tells it of a small tmpfs: all rings together hold some 65,000 events.
SMALL_TMPFS = """
#include <dlfcn.h>
#include <sys/statfs.h>
int statfs(const char* path, struct statfs* facts) {
    typedef int (*Next)(const char*, struct statfs*);
    const int failed = ((Next)dlsym(RTLD_NEXT, "statfs"))(path, facts);
    if (!failed && facts->f_type == 0x01021994) facts->f_blocks = (256 << 20) / facts->f_bsize;
    return failed;
}
"""
MORE_THAN_RINGS_HOLD = 80_000  # there


def variables(folder, **more):
    """What puts the shim into a program and its traces into the folder."""
    return {"LD_PRELOAD": SHIM, "GPUSHIM_OUT": f"{folder}/trace.%p.db", **more}


def ring_files():
    return sorted(str(path) for path in pathlib.Path(in_memory.MEMORY).glob("gpushim*/*"))


def listed(folder):
    """What is in it; nothing where it has gone, as other tests' folders do."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def content(file):
    try:
        return file.read_bytes()
    except OSError:
        return b""


def query(trace, sql):
    """All rows; the trace is opened read-only, as people do."""
    try:
        return asked(trace, sql, "ro")
    except sqlite3.OperationalError as error:
        # Its process was killed in the middle of a transaction: the next who may write puts it in order.
        if "readonly" not in str(error):
            raise
        return asked(trace, sql, "rw")


def asked(trace, sql, mode):
    base = sqlite3.connect(f"file:{trace}?mode={mode}", uri=True)
    try:
        return base.execute(sql).fetchall()
    finally:
        base.close()


def ledger(trace):
    """The equation's terms by name."""
    names = ("produced", "recorded", "recovered", "dropped", "unfinished", "unknown")
    return dict(zip(names, query(trace, f"SELECT {', '.join(names)} FROM v_ledger")[0]))


def launches(trace):
    """{kernel: how many launches}"""
    return dict(query(trace, "SELECT kernel, sum(launches) FROM v_kernel_total GROUP BY kernel"))


def true_launches(truth):
    kernels = {}
    for operation in box.read_truth(truth):
        if operation.op == "kernel":
            kernels[operation.name] = kernels.get(operation.name, 0) + 1
    return kernels


def without_row(export, library):
    """Writes a copy of the shim that does not know one export: its row has another name there."""
    name, content = export.encode(), SHIM.read_bytes()
    content = content.replace(b"\0" + name + b"\0", b"\0" + name[:-1] + b"?\0")
    pathlib.Path(library).write_bytes(content)
    return library


def compiled(source, program, *options, compiler="gcc", before=()):
    """A C program, linked against the box's driver, and against what comes before it; it may include
    one_gpu.h."""
    language = "c++" if "++" in compiler else "c"
    subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-x", language, "-", "-o", program, "-pthread",
                    *box.include_flags(), "-I", box.TOOLS, *before,
                    f"-L{box.SIM}", "-lcuda", f"-Wl,-rpath-link,{box.SIM}", *options, "-ldl"],
                   input=source, text=True, check=True)
    return program


class PreloadCase(unittest.TestCase):
    """A test with a folder of its own, in which the traces are."""

    in_memory = True  # not where tests mount something there, or are about the disk

    def setUp(self):
        place = in_memory.place() if self.in_memory else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="test-gpushim-", dir=place))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def traced(self, command, expect=0, stderr="", **knobs):
        done = box.run(command, {**variables(self.folder), **knobs}, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        if stderr is not None:
            self.assertEqual(done.stderr, stderr)
        return done

    def traces(self):
        return sorted(self.folder.glob("trace.*.db"))

    def recover(self):
        """What was still in rings when processes ended without saying so goes into their traces."""
        done = box.run([ANALYZER, "report", "--all", *self.traces()], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def the_trace(self):
        traces = self.traces()
        self.assertEqual(len(traces), 1, traces)
        return traces[0]

    def assert_nothing_lost(self, trace):
        terms = ledger(trace)
        self.assertGreater(terms["recorded"], 0, terms)
        lost = {name: terms[name] for name in ("recovered", "dropped", "unfinished", "unknown")}
        self.assertEqual(lost, dict.fromkeys(lost, 0), terms)


def tree(folder):
    """{path: (mode, target or bytes)} of everything below."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else None
        if stat.S_ISLNK(mode):
            content = os.readlink(path)
        found[str(path.relative_to(folder))] = (mode, content)
    return found
