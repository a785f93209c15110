"""The README's example prints what the README says. The line of exact bits is left out: another Python may
round sums otherwise."""
import re
import unittest

import box

COMMAND = re.compile(r"^    ((?:GPUSIM_\w+=\S+ )*)(scripts/with-sim .*)$", re.MULTILINE)


class Readme(unittest.TestCase):
    def test_the_training_example(self):
        text = (box.ROOT / "README.md").read_text(encoding="utf-8")
        command = COMMAND.search(text)
        shown = re.search(r"\n\n((?:    .*\n)+)", text[command.end():]).group(1)
        knobs = dict(word.split("=", 1) for word in command.group(1).split())
        done = box.run(command.group(2).split(), knobs, sim=False, cwd=box.ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.lines(done.stdout), self.lines(shown))

    @staticmethod
    def lines(text):
        return [line.strip() for line in text.splitlines() if "0x" not in line]


if __name__ == "__main__":
    unittest.main()
