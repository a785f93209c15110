"""The Makefile on a small box of its own: what is rebuilt when, and what stops the build."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import box

TREE = {
    "build/deps.mk": "CUDA_INCLUDE :=\nEXTRA_INCLUDE :=\n",
    "test/sim/exports.def": "// EXPORT(export)\nEXPORT(cuInit, cuInit, cuInit, 2000, none)\n",
    "test/sim/engine/clock.h": "#pragma once\nnamespace gpusim { int now(); }\n",
    "test/sim/engine/clock.cpp": '#include "clock.h"\nint gpusim::now() { return 1; }\n',
    "test/sim/engine/knobs.cpp": "namespace gpusim { int knob() { return 1; } }\n",
    "test/sim/driver/init.cpp": '#include "engine/clock.h"\nint hidden() { return 2; }\n'
                                'extern "C" int cuInit() { return gpusim::now() + hidden(); }\n',
    "test/unit/main.cpp": 'extern "C" int cuInit();\nint main() { return cuInit(); }\n',
}


PARTS = ("test/sim/build.mk", "shim/build.mk", "analysis/build.mk", "test/build.mk")  # of the Makefile


class Make(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-make-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in {**TREE, "scripts/deps": "#!/bin/sh\n"}.items():
            self.write(name, text)
        self.write("build/deps.mk", TREE["build/deps.mk"])
        for name in ("Makefile", *PARTS):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(box.ROOT / name, self.root / name)

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def make(self, *words, passes=True):
        """The words that the build says it did: the files compiled and linked."""
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}  # nothing of a make that runs the tests
        done = subprocess.run(["make", "-j2", "OPT=-O0", *words], cwd=self.root, env=env, text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode == 0, passes, done.stdout)
        self.numbers = re.findall(r"^  CXX .* (\[\d+/\d+\])$", done.stdout, re.MULTILINE)
        steps = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
        return done.stdout if not passes else {words[1] for words in steps if words[0] in ("CXX", "LINK")}

    def alone(self, *words, **how):
        """File by file."""
        return self.make("QUICK=no", *words, **how)

    ALL = {"test/sim/engine/clock.cpp", "test/sim/engine/knobs.cpp", "test/sim/driver/init.cpp",
           "test/unit/main.cpp", "build/sim/libgpusim.so", "build/sim/libcuda.so.1", "build/test/unit"}

    def test_only_what_changed_is_rebuilt(self):
        self.assertEqual(self.alone("tests"), self.ALL)
        self.assertEqual(self.alone("tests"), set())
        (self.root / "test/sim/engine/clock.h").touch()
        self.assertEqual(self.alone("tests"), self.ALL - {"test/sim/engine/knobs.cpp", "test/unit/main.cpp"})
        self.assertEqual(self.alone("tests", "CXXFLAGS=-DANOTHER"), self.ALL)
        self.assertEqual(self.alone("tests", "CXXFLAGS=-DANOTHER"), set())
        (self.root / "test/sim/engine/knobs.cpp").unlink()
        self.assertIn("build/sim/libgpusim.so", self.alone("tests", "CXXFLAGS=-DANOTHER"))
        self.assertNotIn("knob", self.symbols("libgpusim.so"))

    def symbols(self, library):
        return subprocess.run(["nm", "-DC", "--defined-only", self.root / "build/sim" / library], text=True,
                              stdout=subprocess.PIPE, check=True).stdout

    def test_exports_are_the_api(self):
        self.make("tests")
        self.assertIn("gpusim::now()", self.symbols("libgpusim.so"))
        self.assertIn(" cuInit", self.symbols("libcuda.so.1"))
        self.assertNotIn("hidden", self.symbols("libcuda.so.1"))
        ran = subprocess.run([self.root / "build/test/unit"], check=False)
        self.assertEqual(ran.returncode, 3)

    def test_a_library_is_one_unit_where_that_is_quick(self):
        together = {"test/sim/engine", "test/sim/driver", "test/unit/files-1-12"}
        linked = {name for name in self.ALL if name.startswith("build/")}
        self.assertEqual(self.make("tests"), together | linked)
        self.assertEqual(self.make("tests"), set())
        (self.root / "test/sim/engine/clock.h").touch()
        self.assertEqual(self.make("tests"), {"test/sim/engine", "test/sim/driver"} | linked)
        self.write("test/sim/engine/more.cpp", "namespace gpusim { int more() { return 1; } }\n")
        self.assertIn("test/sim/engine", self.make("tests"))
        self.assertIn("more", self.symbols("libgpusim.so"))
        for number in range(12):  # with main.cpp they are 13
            self.write(f"test/unit/a{number}_test.cpp", f"namespace a{number} {{ int f = 1; }}\n")
        self.assertEqual(self.make("tests"),
                         {"test/unit/files-1-12", "test/unit/files-13-24", "build/test/unit"})

    def test_an_include_that_is_missing_is_found_file_by_file(self):
        """In a library that is one unit, and where headers are precompiled."""
        text = "std::string knob() { return {}; }\n"
        self.write("test/sim/engine/clock.cpp", "#include <string>\n" + TREE["test/sim/engine/clock.cpp"])
        for name in "test/sim/engine/knobs.cpp", "test/unit/knobs.cpp":
            self.write(name, text)
            self.make("tests")
            shutil.rmtree(self.root / "build/obj")
            self.assertIn("std", self.alone("tests", passes=False))
            (self.root / name).unlink()

    def test_what_is_to_be_compiled_is_counted(self):
        self.make("tests")
        self.assertEqual(sorted(self.numbers), ["[1/3]", "[2/3]", "[3/3]"])
        (self.root / "test/unit/main.cpp").touch()
        self.make("tests")
        self.assertEqual(self.numbers, [])

    def test_warnings_and_holes_stop_the_build(self):
        self.write("test/sim/engine/knobs.cpp", "int narrow(long long n) { return n; }\n")
        self.assertIn("-Werror=conversion", self.alone("tests", passes=False))
        self.write("test/sim/engine/knobs.cpp", "int missing(); int knob() { return missing(); }\n")
        self.assertIn("undefined reference to `missing()'",
                      self.alone("build/sim/libgpusim.so", passes=False))

    def test_sanitizers_build_beside(self):
        self.assertIn("build/san-address-undefined/test/unit", self.make("tests", "SAN=address,undefined"))
        self.assertFalse((self.root / "build/sim").exists())

    def test_clean_removes_everything(self):
        self.make("tests")
        self.make("clean")
        self.assertFalse((self.root / "build").exists())
