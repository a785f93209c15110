"""Of which context and device calls are, where the runtime makes contexts current unseen."""
import contextlib
import json
import sqlite3

import box
from cli import GPUSHIM
from shim_host import ShimTest

SETS = 5  # of each visit to a device (doors/devices.c)


class Contexts(ShimTest):
    def trace(self, *arguments, returncode=0, **knobs):
        program = self.build("devices.c", "devices", *self.linked(":libcudart.so.13"))
        done = self.run_host([program, *arguments], **knobs)
        self.assertEqual(done.returncode, returncode, done.seen)
        (path,) = self.folder.glob("*.db")
        return path

    def ask(self, path, sql):
        with sqlite3.connect(path) as base:
            return base.execute(sql).fetchall()

    def report(self, path, *words):
        done = box.run([GPUSHIM, "report", *words, path], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def sets_by_device(self, path):
        return dict(self.ask(path, "SELECT s.device_id, count(*) FROM memset m LEFT JOIN v_stream s"
                                   " ON s.id = m.stream_id GROUP BY 1"))

    def test_one_thread_on_one_device(self):
        path = self.trace(1, 0)
        self.assertEqual(self.ask(path, "SELECT sum(calls) FROM v_api_total WHERE api = 'cuCtxSetCurrent'"),
                         [(None,)])
        self.assertEqual(self.sets_by_device(path), {0: 2 * SETS})
        self.assertEqual(self.ask(path, "SELECT count(*), sum(c.device_id = 0), sum(h.kind = 'context'"
                                        " AND h.born_ns NOT NULL) FROM context c JOIN handle h"
                                        " ON h.id = c.handle_id"), [(1, 1, 1)])
        self.assertEqual(self.ask(path, "SELECT DISTINCT context_id, device_id FROM v_memory"), [(1, 0)])

    def test_what_we_say_of_a_context_is_no_call_of_the_program(self):
        path = self.trace(1, 0)
        self.assertEqual(self.ask(path, "SELECT dropped, unknown FROM v_ledger"), [(0, 0)])
        (recorded,), = self.ask(path, "SELECT recorded FROM v_ledger")
        (calls,), = self.ask(path, "SELECT sum(calls) FROM v_api_total")
        self.assertEqual(recorded, calls)

    def test_one_thread_on_two_devices(self):
        path = self.trace(2, 0, GPUSIM_DEVICES=2)
        self.assertEqual(self.sets_by_device(path), {0: 2 * SETS, 1: 2 * SETS})

    def test_threads_that_come_later(self):
        path = self.trace(1, 2)
        self.assertEqual(self.sets_by_device(path), {0: 4 * SETS})

    def test_a_killed_process(self):
        path = self.trace(1, 0, "killed", returncode=-9)
        text = self.report(path)
        self.assertIn("1 x Simulated GPU", text)
        self.assertEqual(self.sets_by_device(path), {0: 2 * SETS})

    def test_the_report_knows_the_gpu(self):
        text = self.report(self.trace(1, 0))
        self.assertIn("1 x Simulated GPU", text)

    def test_operations_on_a_gpu_that_is_not_known_are_no_lack_of_a_gpu(self):
        path = self.trace(1, 0)
        with contextlib.closing(sqlite3.connect(path)) as base, base:
            base.execute("DELETE FROM context")
        unknown = f"the trace does not say on which GPU {2 * SETS} operations ran"
        text = self.report(path)
        for said in (f"VERDICT  not known: {unknown}", f"WHAT TO DO  not known: {unknown}", "GPU not known",
                     f"{2 * SETS} operations on a GPU that is not known", "TRUST    poor",
                     f"{unknown}: they are in no figure of a GPU"):
            self.assertIn(said, text)
        for said in ("no GPU used", "nothing was timed", "0 ns of calls"):
            self.assertNotIn(said, text)
        told = json.loads(self.report(path, "--json"))
        self.assertEqual(told["ledger"]["placeless_operations"], 2 * SETS)
        self.assertEqual(told["findings_why"], unknown)
        self.assertGreater(told["run"]["calls_span_ns"], 0)

    def test_a_gpu_that_is_known_is_told_with_no_word_of_that(self):
        path = self.trace(1, 0)
        self.assertNotIn("does not say on which GPU", self.report(path, "--all"))
        self.assertEqual(json.loads(self.report(path, "--json"))["ledger"]["placeless_operations"], 0)
