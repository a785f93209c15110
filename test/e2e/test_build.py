"""The Makefile on a small box of its own: what is rebuilt when, and what stops the build."""
import os
import pathlib
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


class Make(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-make-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name, text in {**TREE, "scripts/deps": "#!/bin/sh\n"}.items():
            self.write(name, text)
        self.write("build/deps.mk", TREE["build/deps.mk"])
        shutil.copy(box.ROOT / "Makefile", self.root)

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def make(self, *words, passes=True):
        """The words that the build says it did: the files compiled and linked."""
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}  # nothing of a make that runs the tests
        done = subprocess.run(["make", "-j2", "OPT=-O0", *words], cwd=self.root, env=env, text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode == 0, passes, done.stdout)
        steps = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
        return done.stdout if not passes else {words[1] for words in steps if words[0] in ("CXX", "LINK")}

    ALL = {"test/sim/engine/clock.cpp", "test/sim/engine/knobs.cpp", "test/sim/driver/init.cpp",
           "test/unit/main.cpp", "build/sim/libgpusim.so", "build/sim/libcuda.so.1", "build/test/unit"}

    def test_only_what_changed_is_rebuilt(self):
        self.assertEqual(self.make("tests"), self.ALL)
        self.assertEqual(self.make("tests"), set())
        (self.root / "test/sim/engine/clock.h").touch()
        self.assertEqual(self.make("tests"), self.ALL - {"test/sim/engine/knobs.cpp", "test/unit/main.cpp"})
        self.assertEqual(self.make("tests", "CXXFLAGS=-DANOTHER"), self.ALL)
        self.assertEqual(self.make("tests", "CXXFLAGS=-DANOTHER"), set())
        (self.root / "test/sim/engine/knobs.cpp").unlink()
        self.assertIn("build/sim/libgpusim.so", self.make("tests", "CXXFLAGS=-DANOTHER"))
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

    def test_warnings_and_holes_stop_the_build(self):
        self.write("test/sim/engine/knobs.cpp", "int narrow(long long n) { return n; }\n")
        self.assertIn("-Werror=conversion", self.make("tests", passes=False))
        self.write("test/sim/engine/knobs.cpp", "int missing(); int knob() { return missing(); }\n")
        self.assertIn("undefined reference to `missing()'",
                      self.make("build/sim/libgpusim.so", passes=False))

    def test_sanitizers_build_beside(self):
        self.assertIn("build/san-address-undefined/test/unit", self.make("tests", "SAN=address,undefined"))
        self.assertFalse((self.root / "build/sim").exists())

    def test_clean_removes_everything(self):
        self.make("tests")
        self.make("clean")
        self.assertFalse((self.root / "build").exists())


if __name__ == "__main__":
    unittest.main()
