"""What is said of jobs as people have them, drawn from seeds (test/realistic): `make realistic` has more."""
import sys
import unittest

import box

sys.path.insert(0, str(box.ROOT / "test" / "realistic"))
import judge_job  # noqa: E402


class Drawn(unittest.TestCase):
    """A few jobs of `make realistic`, by their seeds; each is judged by what the box knows."""

    def check(self, *seeds):
        judged = [judge_job.judged(seed) for seed in seeds]
        self.assertEqual([fault for one in judged for fault in [str(one.job), *one.faults] if one.faults], [])
        out = [f"{one.job}: {share}" for one in judged for share in one.shares if not share.holds]
        self.assertLessEqual(len(out), 0.05 * sum(len(one.shares) for one in judged), "\n".join(out))

    def test_ranks_of_which_one_is_slow(self):
        self.check(4)

    def test_parts_of_a_run(self):
        self.check(1, 2)

    def test_steps_of_seconds(self):
        self.check(82, 10)

    def test_a_pace_that_changes(self):
        self.check(95)

    def test_one_rank_of_several(self):
        """Its peers' events are in its waits, and their traces are not there."""
        self.check(818)

    def test_jobs_that_end_badly(self):
        self.check(6, 7)
