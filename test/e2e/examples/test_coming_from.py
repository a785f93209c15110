"""examples/coming_from: every command of each page is run, and every view and variable that it names is
there."""
import re

import box
import kineto_made
import launching
import nsys_made
import preload

FOLDER = box.ROOT / "examples" / "coming_from"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
NAMES = re.compile(r"\b(?:v|compat)_[a-z_]+\b|\bGPUSHIM_[A-Z_]+\b")


class ComingFrom(launching.Job):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.words = {path: path.read_text(encoding="utf-8") for path in PAGES}

    def test_each_page_is_short_and_in_the_list(self):
        listed = (FOLDER / "README.md").read_text(encoding="utf-8")
        self.assertEqual(len(PAGES), 6)
        for path, text in self.words.items():
            self.assertLessEqual(text.count("\n"), 40, path.name)
            self.assertIn(f"]({path.name})", listed)

    def test_every_command_is_run(self):
        """Of all pages in one folder: they trace the same job."""
        nsys_made.program(self.job / "report.sqlite", nsys_made.NEW)
        kineto_made.made(1, 6).write(self.job / "trace.json.gz")
        seen = set()
        for path, text in self.words.items():
            (block,) = launching.FENCE.findall(text)
            for line in block.splitlines():
                command = line.partition("  # ")[0].strip()
                if command in seen:
                    continue
                seen.add(command)
                with self.subTest(page=path.name, command=command):
                    self.run_in_job(command)
        self.assertGreater(len(seen), 20)

    def test_every_name_is_there(self):
        self.run_in_job("gpushim run -o traces/ -- python3 train.py; gpushim report traces/")
        run = self.job / "traces" / "gpushim.run.db"
        trace = next(path for path in run.parent.glob("gpushim.*.db") if path != run)
        there = {name for base in (run, trace)
                 for name, in preload.query(base, "SELECT name FROM sqlite_schema")}
        there |= set(NAMES.findall(self.gpushim("help", "variables").stdout))
        for path, text in self.words.items():
            for name in set(NAMES.findall(text)):
                with self.subTest(page=path.name, name=name):
                    self.assertIn(name, there)
