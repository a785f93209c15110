"""What is spent around collectives, and clocks of several hosts, against what the box knows of them."""
import contextlib
import json
import sqlite3
import unittest

import answered
import box
import cli
import in_memory
import kineto_made
import trained

STEPS, FLOATS = 40, 2_000_000
US = 1_000
SUM_OF_FLOATS = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"


class Ran(unittest.TestCase):
    """Two ranks, analysed once."""

    KNOBS = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
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


class ReplayedInPart(Ran):
    """Where there are more collectives than memory holds, what is said of ranks is of the first of them."""

    def skew(self):
        return json.loads(self.report("--json"))["skew"]

    def test_the_report_says_of_how_many_it_is(self):
        whole = self.skew()
        self.assertEqual((whole["first_collectives"], whole["of_collectives"]), (None, None))
        self.assertIn("first_collectives, of_collectives: all were compared", whole["why"])
        self.assertNotIn("of the first", self.report())
        with contextlib.closing(sqlite3.connect(f"{self.folder}/run.db")) as base, base:
            base.execute("UPDATE skew SET first_collectives = 262144, of_collectives = 1000000")
        part = self.skew()
        self.assertEqual((part["first_collectives"], part["of_collectives"]), (262_144, 1_000_000))
        self.assertRegex(self.report(), r"\nSKEW .*of the first 262,144 of\s+1,000,000 collectives")


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
        self.assertRegex(self.report(), r"packed in 300 us, unpacked in 200 us \(4\.\d* % of the step\)")
        check = json.loads(self.report("--json"))["allreduce_check"]
        self.assertAlmostEqual(check["pack_ns"] / (300 * US), 1, delta=0.02)
        self.assertAlmostEqual(check["unpack_ns"] / (200 * US), 1, delta=0.02)


class Unpacked(Ran):
    def test_nothing_is_packed(self):
        self.assertEqual(self.ask("SELECT max(pack_ns), max(unpack_ns) FROM comm_step"), [(0, 0)])
        self.assertNotIn("packed", self.report())


class TwoHosts(Ran):
    """The second rank's trace as another host would have left it: its clock began 1000 s before, and it has a
    boot and a name of its own."""

    AHEAD_S = 1000
    ABSOLUTE = ("enter_ns", "mono_ns", "born_ns", "died_ns", "first_ns", "reached_ns", "allocated_ns",
                "seen_ns", "watermark_ns", "from_ns", "until_ns")

    @classmethod
    def change(cls):
        with sqlite3.connect(f"{cls.folder}/1.db") as base:
            for table, in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                for _, column, *_ in base.execute(f'PRAGMA table_info("{table}")').fetchall():
                    by = cls.AHEAD_S if (table, column) == ("rollup", "second") else cls.AHEAD_S * 10**9
                    if column in cls.ABSOLUTE or by == cls.AHEAD_S:
                        base.execute(f'UPDATE "{table}" SET {column} = {column} + {by}')
            base.execute("UPDATE meta SET value = value + ? WHERE key = 'started_mono_ns'",
                         (cls.AHEAD_S * 10**9,))
            base.execute("UPDATE meta SET value = 'another' WHERE key IN ('boot_id', 'host')")
        base.close()

    def test_clocks_are_bounded_by_what_both_took_part_in(self):
        (low, point, high), = self.ask("SELECT low_ns, point_ns, high_ns FROM clock_offset"
                                       " WHERE host = 'another'")
        transfer_ns = self.ask("SELECT transfer_p50_ns FROM collective_stat")[0][0]
        truth = -self.AHEAD_S * 10**9
        self.assertLessEqual(low, truth)
        self.assertGreaterEqual(high, truth)
        self.assertAlmostEqual(point, truth, delta=(high - low) / 2)
        self.assertLess(high - low, 2.1 * transfer_ns)

    def test_collectives_are_matched_over_both(self):
        (timed, *found), = self.ask("SELECT timed, ranks, hosts, count, transfer_by FROM collective_stat")
        self.assertEqual(found, [2, 2, STEPS, "shortest"])
        self.assertGreaterEqual(timed, STEPS - 2)  # but for those at the run's ends

    def test_ranks_that_start_together_have_no_spread_that_could_be_told(self):
        (spread, why), = self.ask("SELECT spread_p50_ns, why FROM skew")
        self.assertIsNone(spread)
        self.assertIn("the spread of starts is below the clock error", why)


class Latency(cli.Case):
    """Of the training example, which reduces a loss of 4 bytes and 4 MB of gradients, with a bandwidth that
    is given when it is reported."""

    def setUp(self):
        super().setUp()
        trained.train(self.folder / "t", 2, steps=12)
        self.run_file = self.folder / "run.db"
        self.gpushim("analyze", *self.folder.glob("t/*.db"), "-o", self.run_file)

    def said(self):
        page = self.folder / "page.html"
        self.gpushim("report", self.run_file, "--bandwidth", "100GB/s", "--html", page)
        done = self.gpushim("report", self.run_file, "--bandwidth", "100GB/s", "--json")
        kinds = {row["bytes"]: row for row in json.loads(done.stdout)["collectives"]
                 if row["op"] == "allreduce"}
        return kinds, page.read_text(encoding="utf-8")

    def test_it_is_a_part_of_what_a_ring_is_expected_to_take(self):
        kinds, page = self.said()
        small, large = kinds[4], kinds[4_000_000]
        self.assertAlmostEqual(small["latency_ns"] * 2, small["transfer_p50_ns"], delta=200)
        self.assertEqual((small["latency_bytes"], large["latency_bytes"]), (4, 4))
        term = large["expected_latency_ns"]
        self.assertAlmostEqual(term, 2 * large["latency_ns"], delta=1)  # 2 (n - 1) rounds of two ranks
        self.assertAlmostEqual(large["expected_ns"], 40_000 + term, delta=1)
        self.assertRegex(page, "\u03b1 is [0-9.]+ us: what the smallest messages, of 4 B, took")

    def test_where_it_is_not_known_this_is_said(self):
        with contextlib.closing(sqlite3.connect(self.run_file)) as base, base:
            base.execute("UPDATE collective_stat SET latency_ns = NULL, latency_bytes = NULL")
        kinds, page = self.said()
        for kind in kinds.values():
            self.assertIsNone(kind["latency_ns"])
            self.assertIsNone(kind["expected_latency_ns"])
            self.assertIn("no message below 256 KiB was timed", kind["why"])
        self.assertEqual(kinds[4_000_000]["expected_ns"], 40_000)
        self.assertIn("\u03b1 is not known", page)


class ByName(cli.Case):
    """Traces of older profilers: of NCCL only the kernels' names."""

    def test_what_is_not_recorded_says_so(self):
        trace = kineto_made.Trace()
        for number in range(4):
            at = number * 1000 * US
            trace.step(number, at, 900 * US)
            trace.kernel("ampere_sgemm_128x64_tn", at + 1 * US, at + 10 * US, 50 * US)
            trace.kernel(kineto_made.OLD_COLLECTIVE, at + 20 * US, at + 60 * US, 40 * US, 20)
            trace.kernel(SUM_OF_FLOATS, at + 30 * US, at + 100 * US, 70 * US, 20)
        path, run = self.folder / "rank-0.json.gz", self.folder / "run.db"
        trace.write(path)
        for command in (["import", "kineto", path, "-o", run], ["report", "--json", run]):
            done = box.run([answered.GPUSHIM, *command], sim=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        text = box.run([answered.GPUSHIM, "report", "--all", run], sim=False).stdout
        found = {row["op"]: row for row in json.loads(done.stdout)["collectives"]}
        self.assertEqual({op: (row["dtype"], row["count"]) for op, row in found.items()},
                         {"sendrecv": (None, 4), "allreduce": ("float32", 4)})
        for row in found.values():
            for key in ("comm", "bytes", "ranks", "transfer_p50_ns", "expected_ns", "hosts"):
                self.assertIsNone(row[key], key)
                self.assertIn(key, row["why"])
            self.assertIn("not recorded: only the kernel's name is known", row["why"])
        self.assertRegex(text, r"sendrecv +- +- +- +4 +- +- +- +-\n")
        self.assertRegex(text, r"allreduce +float32 +- +- +4 +- +- +- +-\n")
