"""gpushim demo: from packages alone, without compiler, sources or GPU, the report of a loop on the simulated
box."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import box
import cli
import optional
import test_packages

CASES = {path.parent.name for path in (box.ROOT / "examples" / "cases").glob("*/case.py")}


def completed(prefix, command):
    """What bash is told to offer as that command's first word."""
    text = (prefix / "share/bash-completion/completions/gpushim").read_text(encoding="utf-8")
    words, = re.findall(rf"^    {command}\)\n(?:.*\n)?? *_gpushim_words '(.*)'$", text, re.MULTILINE)
    return set(words.split())


@unittest.skipIf(any("san-" in part for part in box.BUILD.parts), optional.lacks("plain_build"))
class DemoPackage(cli.Case):
    made = test_packages.Packages.made

    def demo(self, program, *words):
        """In a folder and with a PATH that have nothing but Python."""
        bare = self.folder / "bare"
        if not bare.exists():
            bare.mkdir()
            (bare / "python3").symlink_to(sys.executable)
        env = {"PATH": str(bare), "HOME": str(bare), "GPUSHIM_RECOVER": "own",
               **{name: os.environ[name] for name in ("GPUSIM_BOX",) if name in os.environ}}
        return subprocess.run([str(word) for word in (*program, "demo", *words)], env=env, cwd=bare,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)

    def check_report(self, done, finding):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("SIMULATED: no GPU is used"), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^EVIDENCE SIMULATED: these are not GPU times")
        self.assertRegex(done.stdout, rf"(?m)^ 1 .*(\n .*)?\[{finding}\]$")

    def unpacked_debs(self, *names):
        if shutil.which("dpkg-deb") is None:
            self.skipTest(optional.lacks("dpkg"))
        root, file = self.folder / "root", self.made("deb")
        for name in names:
            test_packages.say("dpkg-deb", "-x", file.with_name(file.name.replace("gpushim", name, 1)), root)
        return root / "usr/bin/gpushim"

    def test_two_debian_packages_show_a_report(self):
        program = self.unpacked_debs("gpushim", "gpushim-sim")
        before = sorted(self.folder.glob("root/**/*"))
        self.check_report(self.demo([program]), "straggler")
        self.assertEqual(sorted(self.folder.glob("root/**/*")), before, "no package would take it away again")
        self.check_report(self.demo([program], "input_bound"), "input_bound")
        self.assertNotIn("[input_bound]", self.demo([program], "input_bound", "--fixed").stdout)
        file = next((self.folder / "dist").glob("gpushim-sim_*"))
        needs = test_packages.say("dpkg-deb", "-f", file, "Depends")
        self.assertIn(f"gpushim (= {test_packages.VERSION}), libc6 (>= ", needs)

    def test_without_the_second_it_says_how_to_get_it(self):
        done = self.demo([self.unpacked_debs("gpushim")])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for way in ("gpushim-sim_*.deb", "pip install 'gpushim[sim]'", "gpushim-*-sim.tar.gz"):
            self.assertIn(way, done.stderr)

    def test_two_tarballs_list_the_cases_and_keep_traces(self):
        file = self.made("tarball")
        for part in (file, file.with_name(file.name.replace(".tar", "-sim.tar"))):
            test_packages.say("tar", "-xzf", part, "-C", self.folder)
        program = [self.folder / f"gpushim-{test_packages.VERSION}" / "bin/gpushim"]
        listed = {line.split()[0] for line in self.demo(program, "--list").stdout.splitlines()}
        self.assertEqual(listed, CASES)
        self.assertEqual(completed(program[0].parents[1], "demo"), CASES)
        self.assertEqual(self.demo(program, "no_such_case").returncode, 2)
        kept = self.folder / "kept"
        self.check_report(self.demo(program, "memset", "--keep", kept), "memset")
        self.assertEqual(len(list(kept.glob("*.db"))), 2)  # the trace, and the run
        again = self.demo(program, "memset", "--keep", kept)
        self.assertEqual((again.returncode, "is not empty" in again.stderr), (3, True), again.stderr)

    def test_pip_brings_it_as_an_extra(self):
        if subprocess.run([sys.executable, "-m", "venv", self.folder / "python"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest(optional.lacks("venv"))
        there, quiet = self.folder / "python/bin", ("--quiet", "--disable-pip-version-check")
        test_packages.say(there / "pip", "install", *quiet, "--no-index", "--find-links",
                          self.made("wheel").parent, "gpushim[sim]")
        self.check_report(self.demo([there / "gpushim"]), "straggler")
        self.check_report(self.demo([there / "python", "-m", "gpushim"], "memset"), "memset")
        test_packages.say(there / "pip", "uninstall", *quiet, "--yes", "gpushim", "gpushim-sim")
        left = [path for path in pathlib.Path(self.folder, "python").rglob("*gpushim*")]
        self.assertEqual(left, [])
