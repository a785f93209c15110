"""make deb, make tarball, make wheel: what is in them runs from where it is put, and says whom it suits."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import zipfile

import box
import cli
import optional
import preload

PACKAGE = box.ROOT / "scripts" / "package"
VERSION = subprocess.run([cli.GPUSHIM, "--version"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout.split()[1] if cli.GPUSHIM.exists() else ""


MARKED = """
#include <gpushim.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C"
#endif
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void**, int);
int main(void) {
    void* context;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0)) return 1;
    gpushim_step();
    gpushim_step_n(64);
    gpushim_mark("warm");
    uint64_t outer = gpushim_range_start("outer"), inner = gpushim_range_start("inner");
    gpushim_range_end(outer);
    gpushim_range_end(inner);
    gpushim_range_push("pushed");
    gpushim_range_push("deeper");
    gpushim_range_pop();
    gpushim_range_pop();
    puts("done");
    return 0;
}
"""


SCRIPT = """
import ctypes
import sys
driver = ctypes.CDLL("libcuda.so.1")
if driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0):
    sys.exit("no context")
print(sys.argv[1:], sys.executable)
"""


READS = """
import sys, gpushim
(row,) = gpushim.open(sys.argv[1]).rows("SELECT count(*) AS processes FROM process")
print(row["processes"], gpushim.__version__)
"""


def say(*words):
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True,
                          env=box.environment(sim=False)).stdout


@unittest.skipIf(any("san-" in part for part in box.BUILD.parts), optional.lacks("plain_build"))
class Packages(cli.Case):
    def made(self, kind, folder="dist", epoch="1700000000", umask=0o022, **variables):
        words = [sys.executable, "-B", PACKAGE, kind, self.folder / folder]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, umask=umask,
                              env={**os.environ, "GPUSHIM_BUILD": box.BUILD, "SOURCE_DATE_EPOCH": epoch,
                                   "DEBFULLNAME": "A Builder", "DEBEMAIL": "builder@builders.org",
                                   **variables})
        return pathlib.Path(done.stdout.splitlines()[0])

    def traces_with(self, *program):
        """That program records the linked example."""
        trace = self.folder / "a.db"
        trace.unlink(missing_ok=True)
        done = box.run([*program, "run", "-o", trace, "--", cli.LINKED])
        self.assertEqual((done.returncode, trace.exists()), (0, True), done.stderr)
        version = preload.query(trace, "SELECT value FROM meta WHERE key = 'gpushim_version'")
        self.assertEqual(version, [(VERSION,)])

    def reads_with(self, python, **variables):
        """The module reads the trace of traces_with, by the program that lies in the same package."""
        done = subprocess.run([python, "-B", "-c", READS, self.folder / "a.db"], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder,
                              env={**os.environ, "PATH": "/usr/bin:/bin", **variables})
        self.assertEqual(done.stdout, f"1 {VERSION}\n")

    def test_a_debian_package_and_what_debuggers_read(self):
        if shutil.which("dpkg-deb") is None:
            self.skipTest(optional.lacks("dpkg"))
        file, root, debug = self.made("deb"), self.folder / "root", self.folder / "debug"
        say("dpkg-deb", "-x", file, root)
        say("dpkg-deb", "-x", file.with_name(file.name.replace("_", "-dbgsym_", 1)), debug)
        with self.subTest("it runs where it is unpacked"):
            self.check_a_debian_package(file, root)
        with self.subTest("what debuggers read is a package of its own"):
            self.check_what_debuggers_read(root, debug)

    def check_a_debian_package(self, file, root):
        self.assertEqual(file.name, f"gpushim_{VERSION}_{say('dpkg', '--print-architecture').strip()}.deb")
        self.assertEqual(say("dpkg-deb", "-f", file, "Depends"), "libc6 (>= 2.28)\n")
        self.traces_with(root / "usr/bin/gpushim")
        self.reads_with(sys.executable, PYTHONPATH=str(root / "usr/lib/python3/dist-packages"),
                        PATH=f"{root}/usr/bin:/bin")
        for path in ("usr/lib/libgpushim.so", "usr/share/man/man1/gpushim.1.gz",
                     "usr/share/doc/gpushim/copyright", "usr/share/doc/gpushim/notices/libspdlog-dev",
                     "usr/share/bash-completion/completions/gpushim", "usr/share/pkgconfig/gpushim.pc",
                     "usr/share/zsh/vendor-completions/_gpushim", "usr/include/gpushim.h",
                     "usr/share/fish/vendor_completions.d/gpushim.fish",
                     "usr/share/doc/gpushim/README.md.gz", "usr/share/doc/gpushim/analysis/manual.md.gz"):
            self.assertTrue((root / path).is_file(), path)
        owners = {line.split()[1] for line in say("dpkg-deb", "-c", file).splitlines()}
        self.assertEqual(owners, {"root/root"})

    def check_what_debuggers_read(self, root, debug):
        self.assertEqual(list(root.rglob("*.debug")), [])
        for path in ("usr/bin/gpushim", "usr/lib/libgpushim.so"):
            build = re.search(r"Build ID: (..)(\S+)", say("readelf", "-n", root / path))
            read = debug / f"usr/lib/debug/.build-id/{build[1]}/{build[2]}.debug"
            self.assertIn(" .debug_info ", say("readelf", "-SW", read))
            self.assertNotIn(" .debug_info ", say("readelf", "-SW", root / path))

    def unpacked(self, file, to):
        say("tar", "-xzf", file, "-C", to)
        return to / f"gpushim-{VERSION}"

    def test_a_tarball_runs_where_it_is_unpacked(self):
        file = self.made("tarball")
        self.assertEqual(file.name, f"gpushim-{VERSION}-linux-{os.uname().machine}.tar.gz")
        there = self.unpacked(file, self.folder)
        self.traces_with(there / "bin/gpushim")
        self.reads_with(sys.executable, PYTHONPATH=str(there / "python"))
        self.assertEqual(list(there.rglob("*.debug")), [])
        for path in ("LICENSE", "README.md", "notices/libspdlog-dev", "share/man/man1/gpushim.1"):
            self.assertTrue((there / path).is_file(), path)
        self.unpacked(file.with_name(file.name.replace(".tar", "-debug.tar")), self.folder)
        self.assertTrue((there / "lib/.debug/libgpushim.so.debug").is_file())

    @unittest.skipIf(shutil.which("pkg-config") is None, optional.lacks("pkg_config"))
    def test_a_program_marks_its_steps_by_the_header(self):
        """Compiled by what pkg-config says; without the library the marks do nothing."""
        there, program = self.unpacked(self.made("tarball"), self.folder), self.folder / "marked"
        (self.folder / "marked.c").write_text(MARKED, encoding="utf-8")
        asked = {**os.environ, "PKG_CONFIG_PATH": str(there / "share/pkgconfig")}
        words = {word: subprocess.run(["pkg-config", word, "gpushim"], env=asked, check=True, text=True,
                                      stdout=subprocess.PIPE).stdout.split()
                 for word in ("--cflags", "--libs", "--modversion", "--variable=preload")}
        self.assertEqual(words["--modversion"], [VERSION])
        for compiler in (["gcc", "-std=c99", "-pedantic"], ["gcc", "-O2", "-no-pie"],
                         ["g++", "-x", "c++", "-std=c++11", "-pedantic"]):
            say(*compiler, "-Wall", "-Wextra", "-Werror", *words["--cflags"], self.folder / "marked.c", "-o",
                program, "-L", box.SIM, "-l:libcuda.so.1", *words["--libs"])
            self.assertEqual(box.run([program]).stdout, "done\n")
            trace = self.folder / "marked.db"
            trace.unlink(missing_ok=True)
            done = box.run([program], {"LD_PRELOAD": words["--variable=preload"][0], "GPUSHIM_OUT": trace})
            self.assertEqual(done.stdout, "done\n", done.stderr)
            marks = preload.query(trace, "SELECT kind, value, name FROM v_marker "
                                         "WHERE kind IN ('step', 'mark') ORDER BY enter_ns")
            self.assertEqual(marks, [("step", None, None), ("step", 64, None), ("mark", None, "warm")])
            ranges = preload.query(trace, "SELECT name, kind, depth, dur_ns IS NULL FROM v_range "
                                          "ORDER BY start_ns")
            self.assertEqual(ranges, [("outer", "process", None, 0), ("inner", "process", None, 0),
                                      ("pushed", "thread", 0, 0), ("deeper", "thread", 1, 0)])

    def test_debians_checker_has_nothing_to_say(self):
        if shutil.which("lintian") is None or shutil.which("dpkg-deb") is None:
            self.skipTest(optional.lacks("lintian"))
        self.made("deb")
        packages = sorted((self.folder / "dist").iterdir())
        said = subprocess.run(["lintian", "--no-cfg", *packages], stdout=subprocess.PIPE, text=True,
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
        self.reads_with(there / "python")
        self.check_a_script(there / "python")
        for path in ("include/gpushim.h", "share/pkgconfig/gpushim.pc"):
            self.assertTrue((self.folder / "python" / path).is_file(), path)
        self.assertTrue((self.folder / "python/share/bash-completion/completions/gpushim").is_file())
        self.assertTrue((self.folder / "python/share/man/man1/gpushim.1").is_file())
        library = say(there / "python", "-c", "import gpushim; print(gpushim.lib_path())").strip()
        self.assertTrue(pathlib.Path(library).is_file())
        done = box.run([there / "gpushim", "report", self.folder / "nothing.db"], sim=False)
        self.assertEqual(done.returncode, 2)  # the program's, through Python
        say(there / "pip", "uninstall", "--quiet", "--yes", "--disable-pip-version-check", "gpushim")
        left = [path for path in (self.folder / "python").rglob("*gpushim*") if "pip" not in path.parts]
        self.assertEqual(left, [])

    @unittest.skipUnless("GPUSHIM_PACKAGES_PYTHON" in os.environ, optional.lacks("wheel_tools"))
    def test_the_checkers_of_wheels_have_nothing_to_say(self):
        tools = pathlib.Path(os.environ["GPUSHIM_PACKAGES_PYTHON"]).parent
        self.made("wheel")
        for file in sorted((self.folder / "dist").iterdir()):
            said = say(tools / "twine", "check", "--strict", file)
            self.assertIn("PASSED", said)
            self.assertNotIn("warning", said.lower())
            tag = re.search(r"manylinux_\d+_\d+_\w+(?=\.whl)", file.name)[0]
            said = " ".join(say(tools / "auditwheel", "show", file).split())
            self.assertIn(f'is consistent with the following platform tag: "{tag}"', said)

    def test_the_same_files_make_the_same_package(self):
        """Wherever, whenever and as whom they are packed; the time in it is a setting, or the commit's."""
        kinds = ["wheel", "tarball", *(["deb"] if shutil.which("dpkg-deb") else [])]
        elsewhere = {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8", "TMPDIR": self.folder}
        for kind in kinds:
            self.made(kind, "a")
            self.made(kind, "b/of/another/depth", umask=0o077, **elsewhere)
            self.made(kind, "later", epoch="1700009000")
        files = sorted((self.folder / "a").iterdir())
        self.assertEqual(len(files), 2 + 3 + (3 if "deb" in kinds else 0))
        for file in files:
            again = self.folder / "b/of/another/depth" / file.name
            self.assertTrue(file.read_bytes() == again.read_bytes(), file.name)
            self.assertFalse(file.read_bytes() == (self.folder / "later" / file.name).read_bytes(), file.name)

    def check_a_script(self, python):
        """By `python -m` the same Python runs it, wherever it is on the PATH."""
        (self.folder / "train.py").write_text(SCRIPT, encoding="utf-8")
        for words in (["train.py"], [python, "train.py"]):
            trace = self.folder / "script.db"
            trace.unlink(missing_ok=True)
            done = box.run([python, "-m", "gpushim", "run", "-o", trace, "--", *words, "--lr", "1"],
                           cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (0, f"['--lr', '1'] {python}\n"), done.stderr)
            self.assertTrue(trace.exists())

    def test_the_time_of_a_package_is_that_of_the_commit(self):
        with zipfile.ZipFile(self.made("wheel", epoch="")) as wheel:
            times = {entry.date_time for entry in wheel.infolist()}
        done = subprocess.run(["git", "-C", box.ROOT, "log", "-1", "--format=%ct"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        self.assertEqual(len(times), 1)
        if done.returncode == 0:  # else these are no clone
            made = time.gmtime(int(done.stdout))
            self.assertEqual(times.pop(), (*made[:5], made.tm_sec // 2 * 2))
