"""Running `gpushim`, off and on the simulated box."""
import unittest

import box
import in_memory

GPUSHIM, LIBRARY = box.PROGRAM, box.LIBRARY
LINKED = box.BUILD / "examples" / "linked"
TRAIN = box.ROOT / "examples" / "train" / "train.py"

# All that `gpushim run` says on stderr where nothing is wrong.
WHERE_TRACES_ARE = r"\Agpushim: \d+ traces?: [^\n]+; next: [^\n]+\n\Z"


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = in_memory.folder_of(self)

    def gpushim(self, *words, expect=0, knobs=None, sim=False, **options):
        done = box.run([GPUSHIM, *words], knobs, sim, **options)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def traced(self, *command, pattern="%r.%p.db", **knobs):
        """The program's outcome; its traces are in self.folder."""
        return box.run([GPUSHIM, "run", "-o", self.folder / pattern, "--", *command], knobs)


def without_reason(value, path=""):
    """Where a key is null and nothing beside it says why."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if inner is None and not value.get("why") and not value.get(f"{key}_why"):
                yield f"{path}.{key}"
            yield from without_reason(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from without_reason(inner, f"{path}[{number}]")
