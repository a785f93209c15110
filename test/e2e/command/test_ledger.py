"""`gpushim ledger` tells the published series unaided: what each run reached, what had changed, what the run
before predicted of it and what it gained. Runs are given in any order and under any name."""
import json
import sys
import unittest

import box
import in_memory

sys.path.insert(0, str(box.ROOT / "examples" / "seven_steps"))
import series  # noqa: E402

SAYS = ("input_bound", "pageable_copies", "larger_batch", "no_tensor_cores", "no_tensor_cores",
        "no_tensor_cores", "small_kernels", None)
# The next run does what the finding says, but for bytes_on_wire, which gains a tenth of what the finding
# does, and set_to_none, which is no finding's.
DONE_NEXT = (0, 1, 2, 5, 6)
WITHIN = 1.4  # times what was predicted at most; and at least that part of the least


class Ledger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        cls.places = series.record_all(cls.folder, order=(5, 2, 7, 0, 3, 6, 1, 4),
                                       names=list("hqzxkbwa"))

    def test_the_series(self):
        """One method, for each runs in a process of its own, and the runs take long to record."""
        for check in (self.check_each_run_says_what_the_next_one_does,
                      self.check_kernels_are_the_published_share,
                      self.check_what_changed_is_named,
                      self.check_it_is_a_table_of_one_line_each,
                      self.check_a_run_database_is_a_run_too,
                      self.check_no_run_is_no_ledger):
            with self.subTest(check.__name__):
                check()

    def ledger(self, *words, runs=None):
        shuffled = runs or [self.places[number] for number in (3, 0, 7, 4, 1, 6, 2, 5)]
        done = box.run([box.BUILD / "gpushim", "ledger", *shuffled, *words], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check_each_run_says_what_the_next_one_does(self):
        runs = json.loads(self.ledger("--json"))["runs"]
        self.assertEqual([run["run"] for run in runs], [place.name for place in self.places])
        self.assertEqual(tuple(run["top_finding"] for run in runs), SAYS)
        for run in runs[3:5]:
            self.assertEqual(run["no_gain_expected"], ["memset"])
        for number in DONE_NEXT:
            said, gained_ns = runs[number], runs[number + 1]["gained_ns"]
            with self.subTest(number):
                self.assertGreater(gained_ns, said["predicted_low_ns"] / WITHIN)
                self.assertLess(gained_ns, said["predicted_high_ns"] * WITHIN)
        # Setting gradients to None was not worth it, as was said.
        self.assertLess(runs[5]["gained_ns"], 0.01 * runs[4]["step_median_ns"])

    def check_kernels_are_the_published_share(self):
        """Not busy, which has copies in it: 96 % for 72.81 %."""
        runs = json.loads(self.ledger("--json"))["runs"]
        for run, published in zip(runs, (0.3165, 0.7281, 0.9237, None, 0.9751)):
            if published:
                self.assertAlmostEqual(run["kernel_share"], published, delta=0.035, msg=run["run"])
            self.assertLessEqual(run["productive_share"], run["kernel_share"])
        self.assertGreater(runs[1]["busy_share"], 0.9)
        self.assertIsNotNone(runs[1]["top_finding"])  # more than a quarter is left

    def check_what_changed_is_named(self):
        runs = json.loads(self.ledger("--json"))["runs"]
        self.assertIsNone(runs[0]["changed"])
        self.assertIn("the first run", runs[0]["why"])
        for number, name in ((1, "q"), (2, "z"), (5, "b")):
            self.assertIn(f"variant={name}", runs[number]["changed"])
        self.assertIn("512 samples a step", runs[3]["changed"])
        self.assertRegex(runs[7]["changed"], "kernels: [0-9]+ gone, [0-9]+ new")

    def check_it_is_a_table_of_one_line_each(self):
        lines = self.ledger().splitlines()
        self.assertRegex(lines[0], "^run +productive +kernels +step +samples/s +changed +top finding"
                                   " +predicted +gained$")
        self.assertEqual([line.split()[0] for line in lines[1:9]], [place.name for place in self.places])
        self.assertRegex(lines[1], r"h +31\.\d % +31\.\d % +82\.\d+ ms +38\d +- +input_bound"
                                   r" +\d+\.\d+-\d+\.\d+ ms +-$")

    def check_a_run_database_is_a_run_too(self):
        run = self.folder / "one.db"
        done = box.run([box.BUILD / "gpushim", "analyze", self.places[0], "-o", run], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, = json.loads(self.ledger("--json", runs=[run]))["runs"]
        self.assertEqual((first["run"], first["top_finding"]), ("one.db", "input_bound"))

    def check_no_run_is_no_ledger(self):
        for words in ((), (self.folder / "nothing",)):
            done = box.run([box.BUILD / "gpushim", "ledger", *words], sim=False)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, "^gpushim: .*\n$")
