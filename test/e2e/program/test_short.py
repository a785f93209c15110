"""Short processes: what one that makes a context pays, and what one that ends without a word leaves in
/dev/shm: how much, that plain sqlite3 shows it, and who takes it in."""
import os
import pathlib
import resource
import shutil
import sqlite3
import subprocess
import time
import unittest

import box
import optional
import own_shm
import preload

SOURCE = """
#include "one_gpu.h"
#include <unistd.h>
// short WAY [FILE]: makes a context, launches, stays until that is gone (for two minutes); ends as told.
int main(int count, char** words) {
    open_gpu();
    if (words[1][0] != 'c') {
        for (int i = 0; i < 3; ++i) launch_one(kernel_of("k__1us"), 0);
        MUST(cuCtxSynchronize());
    }
    for (int i = 0; count > 2 && access(words[2], F_OK) == 0 && i < 12000; ++i) usleep(10000);
    if (words[1][0] == '_') _exit(0);
    return 0;
}
"""
SCHEMA = [box.BUILD / "obj/shim/schema" / name for name in ("tables.sql", "views.sql", "totals.sql")]
MOST_LEFT_BYTES = 320 << 10
OUTSIDE = "SELECT what, folder, try FROM v_outside"


class ShortCase(preload.PreloadCase):
    def program(self):
        path = self.folder / "short"
        if not path.exists():
            preload.compiled(SOURCE, path)
        return path


class Cost(ShortCase):
    """Against what the same machine takes at the same time to run the schema's SQL once."""

    TURNS, MOST_TURNS = 25, 200  # on a busy machine the least that each takes comes late

    def cpu_s(self, **knobs):
        env = {name: text for name, text in box.environment(knobs).items()}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([self.program(), "context"], env=env, cwd=self.folder, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def schema_s(self):
        path = self.folder / "schema.db"
        path.unlink(missing_ok=True)
        sql = "".join(part.read_text(encoding="utf-8") for part in SCHEMA)
        before = time.process_time()
        base = sqlite3.connect(path, isolation_level=None)
        base.execute("PRAGMA synchronous = OFF")
        base.executescript(f"BEGIN; {sql} COMMIT;")
        base.close()
        return time.process_time() - before

    def test_a_process_that_makes_a_context_and_ends(self):
        without, traced, schema = [], [], []

        def is_cheaper():
            return min(traced) - min(without) < min(schema)

        while len(traced) < self.TURNS or not is_cheaper() and len(traced) < self.MOST_TURNS:
            without.append(self.cpu_s())
            traced.append(self.cpu_s(**preload.variables(self.folder)))
            schema.append(self.schema_s())
        self.assertEqual(len(self.traces()), len(traced))
        self.assertTrue(is_cheaper(), f"{min(traced)} s, {min(without)} s without, {min(schema)} s for SQL")


class UnderStrace(ShortCase):
    def calls(self, names, *more, **knobs):
        """The system calls of these names, a line each, of a program that launches and ends."""
        lines = self.folder / "calls"
        under = [f"-E{name}={knobs.pop(name)}" for name in ("LD_PRELOAD",) if name in knobs]
        done = box.run(["strace", "-f", "-qq", "-e", f"trace={names}", *more, "-o", lines, *under,
                        self.program(), "launch"],
                       {"GPUSHIM_DEVICE_TIME": "off", **knobs}, cwd=self.folder)
        if "ptrace" in done.stderr:
            self.skipTest(optional.lacks("strace", "ptrace is refused"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return lines.read_text(encoding="utf-8").splitlines()


@unittest.skipUnless(shutil.which("strace"), optional.lacks("strace"))
class Memory(UnderStrace):
    """An allocator that enlarges a thread's memory page by page asks the kernel for each page."""

    MOST = 8

    def growths(self, **knobs):
        return sum("PROT_READ|PROT_WRITE" in line for line in self.calls("mprotect", **knobs))

    def test_the_writer_takes_what_it_needs_at_once(self):
        without, traced = self.growths(), self.growths(**preload.variables(self.folder))
        self.assertEqual(len(self.traces()), 1)
        self.assertLessEqual(traced - without, self.MOST)


@unittest.skipUnless(shutil.which("strace"), optional.lacks("strace"))
class OnDisk(UnderStrace):
    """What could not be put onto the disk is not told to be there (after a power loss: test/faults, D7)."""

    ENDED = "SELECT value FROM meta WHERE key = 'ended'"

    def test_a_disk_that_refuses_leaves_it_in_the_rings(self):
        self.calls("fdatasync", "-e", "inject=fdatasync:error=EIO",
                   **preload.variables(self.folder))
        trace, = self.traces()
        self.assertEqual(preload.query(trace, self.ENDED), [("no",)])
        self.recover()
        self.assertEqual(preload.query(trace, self.ENDED + " UNION ALL SELECT count(*) FROM launch"),
                         [("recovered",), (3,)])


class PrivateShm(ShortCase):
    """With a /dev/shm of its own, where that can be had: what other tests leave is theirs."""
    in_memory = False

    def setUp(self):
        super().setUp()
        self.is_alone = own_shm.take("300m")

    def recovering(self, command, expect=0, **knobs):
        done = box.run(command, {"GPUSHIM_RECOVER": "all", **knobs}, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def short(self, way="_exit", until_gone=(), name="trace"):
        out = self.folder / f"{name}.%p.db"
        self.recovering([self.program(), way, *until_gone],
                        **{**preload.variables(self.folder), "GPUSHIM_OUT": out})

    def folder_of(self, trace):
        uuid = preload.query(trace, "SELECT value FROM meta WHERE key = 'uuid'")[0][0]
        return own_shm.SHM / f"gpushim-{os.geteuid()}" / uuid

    def left(self, name="trace"):
        self.short(name=name)
        (trace,) = self.folder.glob(f"{name}.*.db")
        self.addCleanup(shutil.rmtree, self.folder_of(trace), ignore_errors=True)
        return trace

    def launches(self, trace):
        return preload.query(trace, "SELECT count(*) FROM launch")[0][0]


class Leftovers(PrivateShm):
    def test_little_is_left_and_plain_sqlite3_says_so(self):
        trace = self.left()
        folder = self.folder_of(trace)
        files = list(folder.iterdir())
        self.assertLess(sum(512 * file.stat().st_blocks for file in files), MOST_LEFT_BYTES, files)
        ((what, told, how),) = preload.query(trace, OUTSIDE)
        self.assertIn("outside", what)
        self.assertEqual(pathlib.Path(told).name, folder.name)
        self.assertIn("gpushim report", how)

    def test_after_its_end_nothing_is_outside(self):
        self.short("exit")
        self.assertEqual(preload.query(self.the_trace(), OUTSIDE), [])

    def test_any_command_takes_it_in(self):
        trace = self.left()
        other = self.folder / "other.db"
        sqlite3.connect(other).execute("CREATE TABLE t (x)").connection.close()
        self.recovering([preload.ANALYZER, "sql", other, "SELECT 1"])
        self.assertFalse(self.folder_of(trace).exists())
        self.assertEqual((preload.query(trace, OUTSIDE), self.launches(trace)), ([], 3))

    def test_unless_it_is_told_to_leave_it(self):
        trace = self.left()
        self.recovering([preload.ANALYZER, "sql", self.program(), "SELECT 1"], 2, GPUSHIM_RECOVER="own")
        self.assertTrue(self.folder_of(trace).exists())

    def test_nobody_elses(self):
        trace = self.left()
        folder = self.folder_of(trace)
        others = own_shm.SHM / "gpushim-4294967"
        others.mkdir(mode=0o700)
        self.addCleanup(shutil.rmtree, others)
        shutil.copytree(folder, others / folder.name)
        shutil.rmtree(folder)
        self.recovering([preload.ANALYZER, "sql", trace, "SELECT 1"])
        self.assertTrue((others / folder.name / "ring-1").exists())

    def test_the_next_traced_process_takes_it_in(self):
        trace = self.left()
        self.short("exit", [self.folder_of(trace)], name="next")
        self.assertFalse(self.folder_of(trace).exists())
        self.assertEqual((preload.query(trace, OUTSIDE), self.launches(trace)), ([], 3))
        (next_one,) = self.folder.glob("next.*.db")
        self.assert_nothing_lost(next_one)

    def test_never_more_than_a_tenth_of_what_is_free(self):
        if not self.is_alone:
            self.skipTest(optional.lacks("namespaces", "a /dev/shm of its own to fill"))
        filler = own_shm.SHM / "filler"
        filler.write_bytes(bytes(294 << 20))
        for number in range(20):
            self.short(name=f"trace{number}")
            left = sum(512 * file.stat().st_blocks for file in own_shm.SHM.glob("gpushim-*/*/*"))
            facts = os.statvfs(own_shm.SHM)
            # What it left itself is what the next one finds.
            self.assertLess(left, facts.f_bavail * facts.f_frsize / 10 + MOST_LEFT_BYTES, number)
        self.assertGreater(sum(not preload.query(trace, OUTSIDE) for trace in self.traces_made()), 5)

    def traces_made(self):
        return sorted(self.folder.glob("trace*.db"))
