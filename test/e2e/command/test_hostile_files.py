"""Files that are not what they seem: whoever reads them says so, names them, and takes little for it."""
import gzip
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys

import box
import cli
import kineto_made
import made_traces

sys.path.insert(0, str(box.ROOT / "test" / "fuzz"))
import seeds  # noqa: E402

MOST_CPU_S, MOST_BYTES = 2, 512 << 20
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
# What a file may say that was made by somebody who knows how it will be read.
SCHEMAS = {
    "a view that never ends in a table's place": f"""ALTER TABLE process RENAME TO old;
        CREATE VIEW process AS {ENDLESS} SELECT old.* FROM old, n""",
    "a product of itself in a table's place": """ALTER TABLE launch RENAME TO old;
        CREATE VIEW launch AS SELECT a.* FROM old a, old b, old c, old d, old e""",
    "a view of ours that never ends": f"""DROP VIEW v_range;
        CREATE VIEW v_range AS {ENDLESS} SELECT i AS start_ns, i + 1 AS end_ns, 'step' AS name FROM n""",
    "a column that is computed": """DROP TABLE name; CREATE TABLE name (id INTEGER PRIMARY KEY,
        text TEXT AS (hex(zeroblob(100000000))), symbol TEXT); INSERT INTO name VALUES (1, NULL)""",
    "a table that a module makes": """DROP TABLE name;
        CREATE VIRTUAL TABLE name USING fts5(id, text, symbol)""",
    "a value of 200 MB": "UPDATE name SET text = hex(zeroblob(100000000))",
    "a table that is not there": "DROP TABLE launch",
    "a newer schema": "PRAGMA user_version = 99",
    "one name of two functions": "UPDATE api SET name = 'cuLaunchKernel'",
}
NO_HARM = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON launch BEGIN DELETE FROM launch; END",
    "numbers out of all ranges": """UPDATE launch SET dur_ns = 9223372036854775807;
        UPDATE copy SET bytes = -9223372036854775807""",
}


class HostileFiles(cli.Case):
    def trace(self, sql="", name="hostile.db"):
        path = self.folder / name
        made_traces.make(path)
        made_traces.add_device_times(path)
        made_traces.closed(path)
        base = sqlite3.connect(path)
        base.executescript(sql)
        base.commit()
        base.close()
        return path

    def bounded(self, *words, expect=(2, 3)):
        """What it says, within limits of memory (the kernel holds it to them) and of a processor's time."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (2 * MOST_CPU_S, 2 * MOST_CPU_S))
        before = os.times()
        done = subprocess.run([str(word) for word in (cli.GPUSHIM, *words)], preexec_fn=limit, timeout=300,
                              env=box.environment(sim=False), stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        after = os.times()
        text = done.stderr.decode()
        used_s = after.children_user + after.children_system - before.children_user - before.children_system
        self.assertLess(used_s, MOST_CPU_S, text)
        self.assertIn(done.returncode, expect if isinstance(expect, tuple) else (expect,), text)
        return text

    def test_schemas_that_do_what_they_like(self):
        for what, sql in SCHEMAS.items():
            with self.subTest(what):
                trace = self.trace(sql)
                said = self.bounded("report", "--all", trace)
                self.assertIn(trace.name, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.bounded("top", "--json", self.folder, expect=(0, 3))
                trace.unlink()

    def test_steps_that_are_numbered_from_end_to_end(self):
        """A run whose numbers' differences are none; its page has parts for each rank and over steps."""
        run = self.folder / "hostile.run.db"
        seeds.make_run(run)
        for sql in ("UPDATE step SET number = iif(number % 2, 1 << 63, ~(1 << 63))",
                    "UPDATE step SET number = 1e308 WHERE number % 2"):
            base = sqlite3.connect(run)
            base.execute(sql)
            base.commit()
            base.close()
            self.bounded("report", run, "--html", self.folder / "page.html", expect=0)

    def test_what_does_no_harm_is_read(self):
        for what, sql in NO_HARM.items():
            with self.subTest(what):
                trace = self.trace(sql)
                self.bounded("report", trace, expect=0)
                self.bounded("top", "--json", self.folder, expect=(0, 3))
                trace.unlink()

    def test_a_run_of_a_stranger(self):
        made_traces.make(self.folder / "a.db")
        run = self.folder / "stranger.run.db"
        self.gpushim("analyze", self.folder / "a.db", "-o", run)
        base = sqlite3.connect(run)
        base.executescript("DROP VIEW v_gpu_counted; CREATE VIEW v_gpu_counted AS "
                           f"{ENDLESS} SELECT i AS gpu_id FROM n")
        base.close()
        self.assertIn(run.name, self.bounded("report", run))

    def test_what_is_no_file(self):
        os.mkfifo(self.folder / "fifo.db")
        (self.folder / "folder.db").mkdir()
        for name in ("fifo.db", "folder.db"):
            self.assertIn(name, self.bounded("report", self.folder / name))
        for device in ("/dev/zero", "/dev/null", "/dev/full"):
            self.assertIn(device, self.bounded("report", device))
            self.assertIn(device, self.bounded("import", "kineto", device, "-o", self.folder / "run.db"))

    def test_one_bad_file_among_good_ones(self):
        made_traces.make_run(self.folder / "run", 2)
        (self.folder / "run" / "bad.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
        self.assertIn("bad.db", self.bounded("report", self.folder / "run", expect=3))

    def test_gzip_that_grows_without_end(self):
        bomb = self.folder / "bomb.json.gz"
        blanks = gzip.compress(b" " * (16 << 20))
        bomb.write_bytes(gzip.compress(b'{"traceEvents": [') + 25 * blanks)
        self.assertLess(bomb.stat().st_size, 1 << 20)
        said = self.bounded("import", "kineto", bomb, "-o", self.folder / "run.db")
        self.assertIn(bomb.name, said)

    def test_nesting_and_numbers_that_are_none(self):
        trace = kineto_made.Trace()
        trace.step(1, 1_000_000, 900_000)
        trace.kernel("k", 1_000_000, 1_005_000, 5000)
        whole = trace.text()
        for what in ("[" * 1_000_000, '{"a":' * 1_000_000, "[" * 500_000 + "]" * 500_000):
            file = self.folder / "deep.json"
            file.write_text(whole.replace('"schemaVersion": 1', f'"schemaVersion": 1, "x": {what}'))
            self.assertIn("deep.json", self.bounded("import", "kineto", file, "-o", self.folder / "run.db",
                                                    expect=(0, 2, 3)) + "deep.json")
        for number in ("NaN", "Infinity", "1e999", "-1e999", "9" * 400):
            file = self.folder / "number.json"
            file.write_text(re.sub(r'"dur": [0-9.]+', f'"dur": {number}', whole))
            run = self.folder / "number.run.db"
            self.bounded("import", "kineto", file, "-o", run, expect=(0, 3))
            shown = self.gpushim("report", run, "--json").stdout
            self.assertNotRegex(shown, r"\b(nan|inf|NaN|Infinity)\b")
            json.loads(shown)

    def test_what_is_redacted_has_no_names_on_stderr(self):
        folder = self.folder / "secret-project"
        made_traces.make_run(folder, 2)
        (folder / "secret-file.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
        shutil.copy(next(folder.glob("gpushim.*.db")), folder / "secret-copy.db")
        done = self.gpushim("report", folder, "--redact", expect=3)
        self.assertIn("file-", done.stderr)
        self.assertNotIn("secret", done.stdout + done.stderr)
        alone = self.gpushim("report", folder / "secret-file.db", "--redact", expect=2)
        self.assertNotIn("secret", alone.stdout + alone.stderr)
        self.assertIn("secret-file.db", self.gpushim("report", folder, expect=3).stderr)
