"""Partitions that scripts/fleet replaces: all of them or none, wherever it is stopped; without Spark."""
import pathlib
import shutil
import sys
import tempfile
import unittest
import unittest.mock

import box

sys.path.insert(0, str(box.ROOT / "scripts"))
from fleet import aside  # pylint: disable=wrong-import-position

OLD = {"table=gpu/day=1/run=a": "old", "table=gpu/day=1/run=b": "old", "table=metric/day=1/run=a": "old",
       "table=metric_definition": "old"}
# Run a is of another day now, c was not there, and b, which is not replaced, is as it was.
NEW = {"table=gpu/day=2/run=a": "new", "table=gpu/day=1/run=b": "old", "table=kernel/day=1/run=c": "new",
       "table=metric_definition": "new"}


class Killed(BaseException):
    pass


class Steps:
    """Of the file system: those after so many do not happen, which is what a kill looks like to the next."""

    def __init__(self, most):
        self.most, self.patches = most, []

    def __enter__(self):
        for owner, name in ((aside.os, "rename"), (aside.shutil, "rmtree"), (pathlib.Path, "unlink"),
                            (pathlib.Path, "write_text"), (pathlib.Path, "mkdir")):
            patch = unittest.mock.patch.object(owner, name, self.counted(getattr(owner, name)))
            patch.start()
            self.patches.append(patch)

    def __exit__(self, *_):
        for patch in self.patches:
            patch.stop()

    def counted(self, real):
        def step(*words, **more):
            if self.most <= 0:
                raise Killed
            self.most -= 1
            return real(*words, **more)
        return step


class Aside(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-fleet-")
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name, "out")

    def write(self, tables):
        for place, text in tables.items():
            (self.out / place).mkdir(parents=True, exist_ok=True)
            (self.out / place / "part-0.parquet").write_text(text, encoding="utf-8")

    def begin(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.write(OLD)

    def there(self):
        return {str(file.parent.relative_to(self.out)): file.read_text(encoding="utf-8")
                for file in self.out.glob("**/*.parquet")}

    def replace(self, failure=None):
        with aside.replaced(self.out, {"a", "c"}, "metric_definition"):
            self.write({place: text for place, text in NEW.items() if text == "new"})
            if failure is not None:
                raise failure

    def test_what_is_written_to_the_end_is_there(self):
        self.begin()
        self.replace()
        self.assertEqual(self.there(), NEW)
        aside.put_back(self.out)
        self.assertEqual(self.there(), NEW)

    def test_what_fails_leaves_everything_as_it_was(self):
        self.begin()
        with self.assertRaises(OSError):
            self.replace(OSError("full"))
        self.assertEqual(self.there(), OLD)

    def test_wherever_it_is_killed_the_next_reading_finds_all_of_one_state(self):
        """Killed after each step, and what puts back killed after each of its steps, too."""
        found, most = set(), 0
        while True:
            self.begin()
            steps = Steps(most)
            try:
                with steps:
                    self.replace()
                break
            except Killed:
                pass
            for again in range(12):
                stopped = shutil.copytree(self.out, self.out.parent / "stopped", dirs_exist_ok=False)
                try:
                    with Steps(again):
                        aside.put_back(self.out)
                except Killed:
                    pass
                aside.put_back(self.out)
                there = self.there()
                self.assertIn(there, (OLD, NEW), (most, again))
                found.add(there == NEW)
                shutil.rmtree(self.out)
                stopped.rename(self.out)
            most += 1
        self.assertEqual(found, {False, True})
        self.assertGreater(most, 10)


if __name__ == "__main__":
    unittest.main()
