"""What test/real/run does by itself: what cannot be had is skipped, what nobody has thought of fails. Nothing
is fetched; its driver is a library of a few lines, or the box's."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import box

REAL = box.ROOT / "test" / "real"
sys.path[:0] = [str(REAL), str(box.ROOT / "test" / "gpu")]
import fetch  # noqa: E402
import names  # noqa: E402
import pairs  # noqa: E402

DRIVER = r"""
int cuInit(unsigned flags) { return flags == 0 ? 100 : 1; }
int cuDriverGetVersion(int* version) { *version = 2000; return 0; }
int cuLaunchTomorrow(void) { return 3; }
int cuGLInit(void) { return 3; }
"""


class Fetched(unittest.TestCase):
    """A folder as test/real/run leaves it, and commands that cannot fetch any more."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-real-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        for tool in ("cc", "nm", "as", "ld", "sh"):
            (self.bin / tool).symlink_to(shutil.which(tool))

    def driver(self, name, text):
        folder = self.root / "drivers" / name / "lib"
        folder.mkdir(parents=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / "libcuda.so.1"], input=text,
                       text=True, check=True)

    def table(self, *words, **variables):
        """(status, lines)"""
        env = {**os.environ, "PATH": str(self.bin), "REAL_FOLDER": str(self.root),
               "GPUSHIM_BUILD": str(box.BUILD), "PYTHONNOUSERSITE": "1", **variables}
        done = subprocess.run([sys.executable, "-B", REAL / "run", *words], env=env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def verdict(self, lines, name):
        found = [line for line in lines if re.match(rf".{{7}}{re.escape(name)} {{2}}", line)]
        self.assertEqual(len(found), 1, lines)
        return found[0]


class Skipped(Fetched):
    def pip(self, text):
        """A Python whose pip does this; what else it is asked, it is."""
        (self.bin / "pip").mkdir()
        (self.bin / "pip" / "__init__.py").touch()
        (self.bin / "pip" / "__main__.py").write_text(text, encoding="utf-8")
        return {"PYTHONPATH": str(self.bin)}

    def test_a_machine_that_can_fetch_nothing_fails_nothing(self):
        no_pip = self.pip("raise SystemExit(1)")
        status, lines = self.table(**no_pip)
        self.assertEqual((status, lines[-1]), (0, "0 passed, 0 failed"))
        self.assertTrue(all(" skipped: " in line for line in lines[:-1]), lines)
        self.assertIn("no apt-get on this machine", self.verdict(lines, "Debian"))
        self.assertIn("no pip on this machine", self.verdict(lines, "newest typedefs"))
        self.assertIn("FULL=1", self.verdict(lines, "newest NCCL's names"))

    def test_what_pip_says_is_the_reason_without_its_addresses(self):
        says = ("import sys\n"
                "if 'download' in sys.argv: sys.exit('ERROR: no such wheel at http://a.example/b')")
        status, lines = self.table("newest typedefs", **self.pip(says))
        self.assertEqual(status, 0)
        self.assertIn("pip download nvidia-cuda-runtime: ERROR: no such wheel at (address)",
                      self.verdict(lines, "newest typedefs"))

    def test_a_source_that_is_not_there(self):
        status, lines = self.table("no row", REAL_DRIVER_SOURCES=str(self.root / "none"))
        self.assertEqual(status, 0)
        self.assertIn("the file that it names is not there", self.verdict(lines, "REAL_DRIVER_SOURCES"))

    def test_calls_with_any_arguments_on_a_driver_that_drives_a_gpu(self):
        folder = self.root / "drivers" / "999"
        folder.mkdir(parents=True)
        for name in ("libcuda.so.1", "libgpusim.so"):
            (folder / name).symlink_to(box.SIM / name)
        status, lines = self.table("calls")
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed"))
        self.assertIn("this driver drives a GPU here", self.verdict(lines, "calls before cuInit"))


class Names(Fetched):
    def test_an_export_without_row_and_reason_fails(self):
        self.driver("999", DRIVER)
        status, lines = self.table("names")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("WRONG", self.verdict(lines, "names"))
        self.assertIn("needs_no_row.list: cuLaunchTomorrow", self.verdict(lines, "names"))
        self.assertNotIn("cuGLInit", self.verdict(lines, "names"))

    def test_an_export_that_the_box_has_and_the_driver_has_not_fails(self):
        self.driver("999", DRIVER.replace("cuLaunchTomorrow", "cuMemGetAttribute"))
        status, lines = self.table("names")
        self.assertEqual(status, 1)
        self.assertIn("and the driver does not", self.verdict(lines, "names"))

    def test_a_driver_that_does_not_load_fails(self):
        self.driver("999", "int nothing;")
        status, lines = self.table("names")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
        self.assertIn("does not load", self.verdict(lines, "loads"))

    def test_a_typedef_without_row_and_reason(self):
        header = self.root / "cudaTypedefs.h"
        header.write_text("typedef CUresult (CUDAAPI *PFN_cuLaunchKernel_v4000)(CUfunction f);\n"
                          "typedef CUresult (CUDAAPI *PFN_cuLaunchKernel_v14000_ptsz)(CUfunction f);\n"
                          "typedef CUresult (CUDAAPI *PFN_cuGraphGetId_v13010)(CUgraph hGraph);\n",
                          encoding="utf-8")
        self.assertEqual(names.unknown_typedefs(header), ["PFN_cuLaunchKernel_v14000_ptsz"])

    def test_the_list_of_reasons(self):
        hooked = names.hooked()
        for pattern, why in names.reasons():
            self.assertTrue(why.strip(), pattern)
            found = [name for name in hooked if re.fullmatch(pattern, name)]
            self.assertEqual(found, [], f"{pattern} needs no row, and there is one")


class Assembler(Fetched):
    def found(self, text):
        """What the row says of a stand-in for ptxas."""
        program = self.root / "wheels" / "ptxas-newest" / "bin" / "ptxas"
        program.parent.mkdir(parents=True, exist_ok=True)
        head = "#!/bin/sh\n[ $1 != --help ] || { echo sm_90; exit; }\n"
        program.write_text(f"{head}{text}\n", encoding="utf-8")
        (self.bin / "apt-get").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (self.bin / "apt-get").chmod(0o755)
        name = "PTX by ptxas newest"
        return self.verdict(self.table(name, PATH=f"{self.bin}:{os.environ['PATH']}")[1], name)

    def test_what_it_takes_is_counted_and_what_it_does_not_is_wrong(self):
        self.assertRegex(self.found("exit 0"), r" ok .* takes \d+ texts of this repository")
        self.assertRegex(self.found("echo no such thing; exit 1"), r" WRONG .*no such thing")


class PyTorch(Fetched):
    """Of an interpreter that prints what PyTorch would."""

    def found(self, first="2.0 13.0", devices="available False devices 0", last="compiled as it is True"):
        self.driver("999", DRIVER)
        python = self.root / "python"
        text = "".join(f'echo "{line}"\n' for line in (first, devices, last))
        python.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        python.chmod(0o755)
        said = self.verdict(self.table("PyTorch", REAL_PYTORCH=str(python))[1], "PyTorch")
        shutil.rmtree(self.root / "drivers")
        return said

    def test_the_same_with_and_without(self):
        self.assertIn("3 lines the same", self.found())

    def test_what_is_otherwise_is_wrong(self):
        self.assertIn("WRONG", self.found(last="compiled as it is True\npreloaded: $LD_PRELOAD"))
        self.assertIn("WRONG", self.found(first="2.0 None"))
        self.assertIn("WRONG", self.found(devices="available True devices 1"))
        self.assertIn("WRONG", self.found(last="compiled as it is False"))

    def test_nothing_fetches_it(self):
        self.driver("999", DRIVER)
        said = self.verdict(self.table("PyTorch", REAL_PYTORCH="")[1], "PyTorch")
        self.assertIn("skipped: REAL_PYTORCH names no Python", said)


class Pairs(unittest.TestCase):
    def test_what_a_run_says_of_itself_is_no_difference(self):
        said = "[2026-01-02 03:04:05] host:{0}:{0} [0] WARN at 0x7f{0}\nthe same\n"
        self.assertEqual(pairs.first_difference(said.format(11), said.format(12)), "")
        log = "W1123 23:42:53.4310 {0} torch/a.py:183] no GPU\n"
        self.assertEqual(pairs.first_difference(log.format(11), log.format(12).replace("53.4", "54.5")), "")
        other = said.format(12).replace("the same", "other")
        self.assertIn("'the same'", pairs.first_difference(said.format(11), other))
        self.assertIn("2 lines without", pairs.first_difference(said, said + "more\n"))

    def test_another_status_is_a_difference(self):
        with self.assertRaisesRegex(AssertionError, "ended with -11 instead of 0"):
            pairs.demand_same(pairs.Ended((0, "a", "")), pairs.Ended((-11, "a", "")))

    def test_major_versions(self):
        self.assertEqual([fetch.major(text) for text in ("535.261.03-1", "1:580.65.06-0x")], ["535", "580"])
