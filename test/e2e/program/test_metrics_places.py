"""GPUSHIM_METRICS in places that cannot be written, or that two processes have: at most one line on stderr,
and the program is what it was."""
import os
import pathlib
import signal
import socket
import sys
import time
import unittest

import box
import optional
import prometheus_text
from beside import PATIENCE_S, BesideCase
from preload import variables

HANG = pathlib.Path(__file__).parent / "hang"
FULL = r"""
mkdir "$1" && mount -t tmpfs -o size=64k none "$1" && cp "$2" "$1/m.prom"
dd if=/dev/zero of="$1/fill" 2>/dev/null
shift 2; "$@"; echo "status $?"
cat "$DISK/m.prom"; ls "$DISK"
"""


class Places(BesideCase):
    def start(self, program, *words, metrics):
        return self.beside([sys.executable, HANG / program, *words], GPUSHIM_METRICS=metrics, RANK=3)

    def processes(self):
        """{name of a file: the process that it is of}"""
        found = {}
        for file in (self.folder / "m").glob("*.prom"):
            try:
                samples = prometheus_text.samples(file.read_text(encoding="utf-8"))
            except FileNotFoundError:
                continue
            pid, = {sample.labels["pid"] for sample in samples}
            found[file.name] = int(pid)
        return found

    def goes_on(self, metrics, complaint):
        """A process whose metrics have no place."""
        job = self.start("waits.py", "device", 3, metrics=metrics)
        self.assertEqual(job.communicate(timeout=PATIENCE_S)[0], "waits\nover\n")
        job = self.start("waits.py", "device", 3, metrics=metrics)
        self.assertRegex(job.communicate(timeout=PATIENCE_S)[1], rf"\A{complaint}\n\Z")

    def test_a_parent_and_its_child_do_not_share_a_file(self):
        job = self.start("forks.py", metrics=f"{self.folder}/m/of.all.prom")
        files = self.until(lambda: len(found := self.processes()) == 2 and found)
        second, = (pid for name, pid in files.items() if name != "of.all.prom")
        self.assertEqual(files[f"of.all.{second}.prom"], second)
        self.assertIn(job.pid, files.values())
        time.sleep(5)  # both write again
        self.assertEqual(self.processes(), files)
        job.send_signal(signal.SIGTERM)
        said = job.communicate(timeout=PATIENCE_S)[1]
        self.assertRegex(said, r"\Agpushim: \S+/m/of\.all\.prom is another process's; the metrics of this"
                               rf" one are in \S+/m/of\.all\.{second}\.prom\n\Z")
        self.assertEqual(self.processes(), {})

    def test_the_file_of_a_process_that_was_killed_is_taken_over(self):
        for _ in range(2):
            job = self.start("waits.py", "device", 600, metrics=f"{self.folder}/m/a.prom")
            self.until(lambda: self.processes() == {"a.prom": job.pid})
            job.kill()
            self.assertEqual(job.communicate()[1], "")

    def test_a_folder_that_goes_and_comes_back(self):
        job = self.start("waits.py", "device", 600, metrics=f"{self.folder}/m/a.prom")
        self.until(self.processes)
        (self.folder / "m").rename(self.folder / "away")
        self.assertRegex(job.stderr.readline(), r"^gpushim: cannot write \S+/m/a\.prom \(No such file or"
                                                r" directory\); it is tried again\n$")
        (self.folder / "m").mkdir()
        self.until(self.processes)
        text = (self.folder / "m" / "a.prom").read_text(encoding="utf-8")
        self.assertGreaterEqual(prometheus_text.value(text, "failed_writes_total"), 1)
        job.kill()
        self.assertEqual(job.communicate()[1], "")

    def test_what_is_no_file(self):
        pipe, door = self.folder / "pipe", self.folder / "door"
        os.mkfifo(pipe)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(door))
            for place, what in ((pipe, "a FIFO"), ("/dev/null", "a device"), (door, "a socket")):
                self.goes_on(place, rf"gpushim: GPUSHIM_METRICS={place} is {what}; no metrics")
        self.assertTrue(pipe.is_fifo() and door.is_socket() and pathlib.Path("/dev/null").is_char_device())

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        self.goes_on(f"{self.folder}/file/m/a.prom",
                     r"gpushim: cannot make the folder of \S+/file/m/a\.prom \(Not a directory\); no metrics")

    def test_a_link_in_its_place_is_replaced_and_not_followed(self):
        victim = self.folder / "victim"
        victim.write_text("mine", encoding="utf-8")
        (self.folder / "m").mkdir()
        (self.folder / "m" / "a.prom").symlink_to(victim)
        self.start("waits.py", "device", 600, metrics=f"{self.folder}/m/a.prom")
        self.until(lambda: not (self.folder / "m" / "a.prom").is_symlink())
        self.assertEqual(victim.read_text(encoding="utf-8"), "mine")

    @unittest.skipUnless(optional.may_mount(), optional.lacks("namespaces"))
    def test_a_full_disk_keeps_the_text_of_before(self):
        disk, old = self.folder / "disk", self.folder / "old"
        old.write_text("of before\n", encoding="utf-8")
        knobs = {**variables(self.folder), "DISK": disk}
        program = [sys.executable, HANG / "waits.py", "device", 3]
        done = box.run(["unshare", "-m", "sh", "-c", FULL, "sh", disk, old, "env",
                        f"GPUSHIM_METRICS={disk}/m.prom", *program], knobs)
        self.assertEqual(done.stdout, "waits\nover\nstatus 0\nof before\nfill\nm.prom\n", done.stderr)
        self.assertRegex(done.stderr, rf"\Agpushim: cannot write {disk}/m\.prom \(No space left on device\);"
                                      r" it is tried again\n\Z")
