"""What is spent around collectives, and clocks of several hosts, against what the box knows of them."""
import json
import tempfile
import unittest

import answered
import box

STEPS, FLOATS = 40, 2_000_000
US = 1_000


class Ran(unittest.TestCase):
    """Two ranks, analysed once."""

    KNOBS = {}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        answered.run_ranks(cls.folder, 2, STEPS, "AllReduce", FLOATS, cls.KNOBS)
        cls.change()
        cls.base = answered.analysed(cls.folder)
        cls.addClassCleanup(cls.base.close)

    @classmethod
    def change(cls):
        pass

    def ask(self, sql):
        return self.base.execute(sql).fetchall()

    def report(self, *options):
        done = box.run([answered.GPUSHIM, "report", f"{self.folder}/run.db", *options], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout


class Packed(Ran):
    """Gradients are concatenated for 300 us, and copied and split again for 200 us."""

    KNOBS = {"PACKED": 1}

    def test_packing_and_unpacking_are_what_the_program_did(self):
        rows = self.ask("SELECT c.pack_ns, c.unpack_ns FROM comm_step c JOIN gpu g USING (gpu_id)"
                        " JOIN v_counted_step s ON s.rank_id = g.rank_id AND s.step = c.step")
        self.assertGreater(len(rows), STEPS)  # of two ranks
        for pack_ns, unpack_ns in rows:
            self.assertAlmostEqual(pack_ns / (300 * US), 1, delta=0.02)
            self.assertAlmostEqual(unpack_ns / (200 * US), 1, delta=0.02)

    def test_a_collective_that_starts_when_it_can_has_no_delay(self):
        longest = self.ask("SELECT max(start_delay_ns), count(start_delay_ns) FROM comm_step")[0]
        self.assertLess(longest[0], 10 * US)
        self.assertGreater(longest[1], STEPS)

    def test_the_report_has_it(self):
        self.assertRegex(self.report(), r"packed in 300\.?0* us, unpacked in 200\.?0* us \(4\.\d* % of the step")
        check = json.loads(self.report("--json"))["allreduce_check"]
        self.assertAlmostEqual(check["pack_ns"] / (300 * US), 1, delta=0.02)
        self.assertAlmostEqual(check["unpack_ns"] / (200 * US), 1, delta=0.02)


class Unpacked(Ran):
    def test_nothing_is_packed(self):
        self.assertEqual(self.ask("SELECT max(pack_ns), max(unpack_ns) FROM comm_step"), [(0, 0)])
        self.assertNotIn("packed", self.report())


if __name__ == "__main__":
    unittest.main()
