"""make deb, make wheel: what is in them runs from where it is put, and says whom it suits."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

import box
import cli
import optional
import preload

PACKAGE = box.ROOT / "scripts" / "package"
VERSION = subprocess.run([cli.GPUSHIM, "--version"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout.split()[1] if cli.GPUSHIM.exists() else ""


def say(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True,
                          env=box.environment(sim=False)).stdout


@unittest.skipIf(any("san-" in part for part in box.BUILD.parts), optional.lacks("plain_build"))
class Packages(cli.Case):
    def made(self, kind, folder="dist", epoch="1700000000"):
        words = [sys.executable, "-B", PACKAGE, kind, self.folder / folder]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "GPUSHIM_BUILD": box.BUILD, "SOURCE_DATE_EPOCH": epoch,
                                   "DEBFULLNAME": "A Builder", "DEBEMAIL": "builder@builders.org"})
        return pathlib.Path(done.stdout.strip())

    def traces_with(self, *program):
        """That program records the linked example."""
        trace = self.folder / "a.db"
        trace.unlink(missing_ok=True)
        done = box.run([*program, "run", "-o", trace, "--", cli.LINKED])
        self.assertEqual((done.returncode, trace.exists()), (0, True), done.stderr)
        version = preload.query(trace, "SELECT value FROM meta WHERE key = 'gpushim_version'")
        self.assertEqual(version, [(VERSION,)])

    def test_a_debian_package_runs_where_it_is_unpacked(self):
        if shutil.which("dpkg-deb") is None:
            self.skipTest(optional.lacks("dpkg"))
        file, root = self.made("deb"), self.folder / "root"
        self.assertEqual(file.name, f"gpushim_{VERSION}_{say('dpkg', '--print-architecture').strip()}.deb")
        self.assertEqual(say("dpkg-deb", "-f", file, "Depends"), "libc6 (>= 2.28)\n")
        say("dpkg-deb", "-x", file, root)
        self.traces_with(root / "usr/bin/gpushim")
        for path in ("usr/lib/libgpushim.so", "usr/share/man/man1/gpushim.1.gz",
                     "usr/share/doc/gpushim/copyright", "usr/share/doc/gpushim/notices/libspdlog-dev",
                     "usr/share/doc/gpushim/README.md.gz", "usr/share/doc/gpushim/analysis/manual.md.gz"):
            self.assertTrue((root / path).is_file(), path)
        owners = {line.split()[1] for line in say("dpkg-deb", "-c", file).splitlines()}
        self.assertEqual(owners, {"root/root"})

    def test_debians_checker_has_nothing_to_say(self):
        if shutil.which("lintian") is None or shutil.which("dpkg-deb") is None:
            self.skipTest(optional.lacks("lintian"))
        said = subprocess.run(["lintian", "--no-cfg", self.made("deb")], stdout=subprocess.PIPE, text=True,
                              check=False)
        self.assertEqual((said.returncode, said.stdout), (0, ""))

    def test_a_wheel_holds_what_its_record_says(self):
        with zipfile.ZipFile(self.made("wheel")) as wheel:
            wheel.extractall(self.folder / "packages")
            modes = {entry.filename: entry.external_attr >> 16 for entry in wheel.infolist()}
        self.assertEqual(modes["gpushim/_lib/gpushim"], 0o100755)
        record = (self.folder / f"packages/gpushim-{VERSION}.dist-info/RECORD").read_text(encoding="utf-8")
        self.assertEqual({line.split(",")[0] for line in record.splitlines()}, set(modes))

    def test_pip_installs_the_wheel(self):
        if subprocess.run([sys.executable, "-m", "venv", self.folder / "python"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest(optional.lacks("venv"))
        there = self.folder / "python/bin"
        say(there / "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check",
            self.made("wheel"))
        self.traces_with(there / "gpushim")
        self.traces_with(there / "python", "-m", "gpushim")
        library = say(there / "python", "-c", "import gpushim; print(gpushim.lib_path())").strip()
        self.assertTrue(pathlib.Path(library).is_file())
        done = box.run([there / "gpushim", "report", self.folder / "nothing.db"], sim=False)
        self.assertEqual(done.returncode, 2)  # the program's, through Python

    def test_the_same_files_make_the_same_package(self):
        wheels = [self.made("wheel", folder, epoch).read_bytes() for folder, epoch in
                  (("a", "1700000000"), ("b", "1700000000"), ("c", "1700009000"))]
        self.assertTrue(wheels[0] == wheels[1])
        self.assertFalse(wheels[0] == wheels[2])
        if shutil.which("dpkg-deb"):
            first, again = (self.made("deb", folder).read_bytes() for folder in "de")
            self.assertTrue(first == again)


if __name__ == "__main__":
    unittest.main()
