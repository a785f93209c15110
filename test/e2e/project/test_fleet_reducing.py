"""What an executor of scripts/fleet makes of a file; without Spark."""
import errno
import os
import pathlib
import sqlite3
import sys
import tempfile
import unittest
import unittest.mock

import box
import made_traces
from test_fleet_lists import entry, states

sys.path.insert(0, str(box.ROOT / "scripts"))
from fleet import files, manifest, reduce, tables  # pylint: disable=wrong-import-position


class Reducing(unittest.TestCase):
    """What an executor answers where it cannot reduce: never a figure, always a reason."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-fleet-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        made_traces.make(self.folder / "0.db")
        self.file = files.looked_at(str(self.folder / "0.db"))

    def reduced(self, program, version="gpushim 1"):
        return reduce.reduced(self.file, reduce.Tools(str(program), version, str(self.folder)))

    def program(self, text):
        path = self.folder / f"program-{len(text)}"
        path.write_text(f"#!/bin/sh\nif [ $1 = --version ]; then echo gpushim 1; exit; fi\n{text}\n",
                        encoding="utf-8")
        path.chmod(0o755)
        return path

    def test_small_files_share_a_task_and_large_ones_do_not(self):
        some = [files.File(f"{nth:05}", 50 if nth >= 40 else 10 << 20, 1) for nth in range(10_000)]
        tasks = reduce.groups(some, 2)
        self.assertEqual(sorted(file for task in tasks for file in task), some)
        self.assertLess(len(tasks), 60)
        self.assertEqual({sum(file.bytes > 50 for file in task) for task in tasks}, {0, 1})
        self.assertEqual([len(task) for task in reduce.groups(some[:40], 2)], [4] * 10)
        self.assertEqual([len(task) for task in reduce.groups(some[:1], 2)], [1])
        self.assertEqual(len(reduce.groups([files.File("gone", None, None)] * 3, 2)), 2)

    def test_without_the_program(self):
        row = self.reduced(self.folder / "nothing")
        self.assertEqual((row["state"], row["summary"], row["ranks"]), ("no_binary", None, []))
        self.assertIn("cannot run", row["why"])

    def test_with_another_version(self):
        row = self.reduced(self.program("exit 0"), "gpushim 2")
        self.assertEqual((row["state"], row["summary"]), ("other_version", None))
        self.assertIn("has gpushim 1, not gpushim 2", row["why"])

    def test_with_a_full_disk(self):
        row = self.reduced(self.program("echo 'database or disk is full' >&2; exit 3"))
        self.assertEqual((row["state"], row["why"]), ("not_written", "database or disk is full"))

    def test_with_a_program_that_may_not_be_run(self):
        program = self.program("exit 0")
        program.chmod(0o644)
        row = self.reduced(program)
        self.assertEqual(row["state"], "no_binary")
        self.assertRegex(row["why"], f"cannot run {program}: .*Permission denied")

    def test_with_a_disk_that_is_full_after_gpushim_has_ended(self):
        """Behind a URI the summary is named and moved by us. That the disk is full is told, and the program,
        which ran, is not accused."""
        program, file = str(box.BUILD / "gpushim"), self.file._replace(path="hdfs://a/0.db")
        tools = reduce.Tools(program, reduce.version_of(program), str(self.folder))
        content = (self.folder / "0.db").read_bytes()
        full = OSError(errno.ENOSPC, "No space left on device", str(self.folder / "x"))
        faults = ((reduce.pathlib.Path, "rename", full, "x: No space left on device"),
                  (reduce, "name_file", sqlite3.OperationalError("database or disk is full"),
                   r"\.summary: database or disk is full"))
        for owner, name, fault, why in faults:
            with unittest.mock.patch.object(owner, name, side_effect=fault):
                row = reduce.fetched(file, content, tools)
            self.assertEqual((row["state"], row["summary"], row["ranks"]), ("not_written", None, []))
            self.assertRegex(row["why"], why)
            self.assertNotIn("cannot run", row["why"])

    def test_a_file_that_the_machine_could_not_read_is_tried_again(self):
        with unittest.mock.patch.object(files, "kind_of_file", side_effect=OSError(errno.EIO, "I/O error")):
            row = reduce.reduced(self.file, None)
        self.assertEqual(row["state"], "not_readable")
        self.assertIn("I/O error", row["why"])
        self.assertFalse(manifest.is_read(self.file, row))

    def test_without_the_folder_that_all_share(self):
        tools = reduce.Tools(str(self.program("exit 3")), "gpushim 1", str(self.folder / "elsewhere"))
        row = reduce.reduced(self.file, tools)
        self.assertEqual(row["state"], "not_written")
        self.assertIn("elsewhere", row["why"])

    def test_of_a_newer_trace(self):
        row = self.reduced(self.program("echo 'x.db: written by a newer gpushim' >&2; exit 2"))
        self.assertEqual(row["state"], "newer")

    def test_of_what_cannot_be_read(self):
        self.assertEqual(self.reduced(self.program("echo 'x.db: malformed' >&2; exit 3"))["state"], "damaged")
        self.assertEqual(self.reduced(self.program("exit 0"))["state"], "damaged")

    def test_of_another_database(self):
        row = self.reduced(self.program("echo 'no trace to read: x.db: not a trace of gpushim' >&2; exit 2"))
        self.assertEqual(row["state"], "not_ours")

    def test_of_what_is_no_file(self):
        os.mkfifo(self.folder / "pipe.db")
        row = reduce.reduced(files.looked_at(str(self.folder / "pipe.db")), None)
        self.assertEqual((row["state"], row["why"]), ("not_ours", "no regular file"))

    def summary(self, name="0.summary"):
        program, place = str(box.BUILD / "gpushim"), self.folder / name
        done = box.run([program, "analyze", "--rank-summary", "-o", place, self.folder / "0.db"], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return place

    def test_of_a_summary_that_lacks_a_page(self):
        """Whichever it is: its rows would be missing, or stop the reading of all others."""
        place = self.summary()
        whole, told = place.read_bytes(), set()
        page = int.from_bytes(whole[16:18], "big")
        for at in range(page, len(whole), page):
            place.write_bytes(whole[:at] + bytes(page) + whole[at + page:])
            told.add(reduce.reduced(files.looked_at(str(place)), None)["state"])
        self.assertEqual(told, {"damaged"})

    def test_of_odd_names(self):
        """Such as would be another place in a URI, and one that is no UTF-8; so may be what it holds."""
        with sqlite3.connect(self.summary()) as base:
            base.execute("UPDATE rank SET host = CAST(X'61ff' AS TEXT)")
        base.close()
        for name in ("a?mode=rwc", "a%41#b", "a \n'\"", os.fsdecode(b"\xff\xfe")):
            place = self.folder / f"{name}.summary"
            place.write_bytes((self.folder / "0.summary").read_bytes())
            row = reduce.reduced(files.looked_at(str(place)), None)
            self.assertEqual((row["state"], row["ranks"][0]["host"]), ("reduced", "a\ufffd"), row["why"])
            columns = tables.schema()["rank"]
            self.assertEqual([of[0] for of in tables.rows(row["summary"], "rank", columns)],
                             [tables.wide_id(row["ranks"][0]["uuid"], "rank")])
            self.assertEqual(reduce.place_of(files.looked_at(str(place)), "f").suffix, ".summary")

    def test_what_gpushim_doubted_is_told(self):
        place = self.summary()
        with sqlite3.connect(place) as base:
            base.executemany("INSERT OR REPLACE INTO run VALUES (?, 1)",
                             [("refused",), ("partly_read",), ("not_ended",)])
        base.close()
        row = reduce.reduced(files.looked_at(str(place)), None)
        run, = manifest.runs_of([row])[0].values()
        self.assertEqual(states(run.coverage), ["not_ended", "partly_read", "refused"])
        other = {**entry("other", 1, key=row["ranks"][0]["run_key"]), "made_by": "gpushim 0"}
        run, = manifest.runs_of([{**row, "doubts": []}, other])[0].values()
        self.assertIn("mixed_versions", states(run.coverage))

    def test_with_the_program(self):
        program = box.BUILD / "gpushim"
        row = self.reduced(program, reduce.version_of(str(program)))
        self.assertEqual((row["state"], row["ranks"][0]["rank"]), ("reduced", 0), row["why"])
        self.assertEqual(self.reduced(program, reduce.version_of(str(program)))["summary"], row["summary"])
