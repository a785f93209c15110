"""Programs that are hard to live in: calls that do not return, sanitizers, other allocators."""
import ctypes.util
import os
import pathlib
import subprocess
import sys

import box
import optional
from shim_host import LAUNCHES, SHIM, ShimTest

CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))


class CallsThatDoNotReturn(ShimTest):
    def test_exception_longjmp_and_cancel(self):
        behind = self.build("leaves.cpp", "libbehind.so", "-DDRIVER", compiler="g++")
        host = self.build("leaves.cpp", "leaves", "-rdynamic", behind, *self.linked(), compiler="g++")
        run = self.assert_undisturbed([host], LD_LIBRARY_PATH=f"{self.folder}:{box.SIM}")
        self.assertIn("caught 7\njumped\nthe stack was unwound\ncancelled\n", run.stdout)
        launches = 1 + 10 + 10 + 1 + 10
        self.assertEqual(run.counts["cuLaunchKernel"], launches)
        self.assertEqual(self.recorded("launch"), launches)


class Allocators(ShimTest):
    def test_jemalloc_before_and_behind(self):
        jemalloc = ctypes.util.find_library("jemalloc")
        self.assertIsNotNone(jemalloc, "scripts/deps installs libjemalloc2")
        host = self.build("host.c", "host", "-DWAY=DLOPEN")
        alone = self.run_host([host], preload=[jemalloc])
        for order in ([jemalloc, SHIM], [SHIM, jemalloc]):
            with self.subTest(first=order[0]):
                run = self.run_host([host], preload=order)
                self.assertEqual(run.seen, alone.seen)
                self.assertEqual(run.hits["cuLaunchKernel"], LAUNCHES)


class Sanitizers(ShimTest):
    """A sanitizer's runtime has to be the first preload; its start-up asks dlsym before anything is ready."""

    def runtime(self, name):
        path = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True,
                              check=True).stdout.strip()
        self.assertTrue(os.path.isabs(path), f"{name} comes with g++")
        return path

    def check(self, sanitizer, runtime):
        path = self.runtime(runtime)
        for way in ("DLOPEN", "LINKED", "PROC2"):
            host = self.build("host.c", f"host_{way}", f"-DWAY={way}", f"-fsanitize={sanitizer}", "-g",
                              *(self.linked() if way == "LINKED" else []))
            with self.subTest(way=way):
                # Leaks of the box itself are not what this is about.
                options = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=1"}
                alone = self.run_host([host], preload=[path], **options)
                run = self.run_host([host], preload=[path, SHIM], **options)
                self.assertEqual(run.seen, alone.seen)
                self.assertEqual(run.hits["cuLaunchKernel"], LAUNCHES)
                self.assertEqual(run.returncode, 0, run.stderr)

    def test_address(self):
        self.check("address", "libasan.so")

    def test_thread(self):
        self.check("thread", "libtsan.so")

    def test_thread_knows_one_table_of_descriptors(self):
        """It takes two files of one number for one file, and what was said through a pipe for unsaid."""
        path = self.runtime("libtsan.so")
        host = self.build("files.c", "files", "-fsanitize=thread", "-g", *self.linked())
        alone = self.run_host([host], preload=[path], TSAN_OPTIONS="report_bugs=1")
        run = self.run_host([host], preload=[path, SHIM], TSAN_OPTIONS="report_bugs=1")
        self.assertEqual(alone.seen, (0, "79800\n", ""))
        self.assertEqual(run.seen, alone.seen)
        self.assertEqual(self.recorded("memset"), 400)

    def test_thread_is_told_what_it_cannot_see(self):
        """Three threads of ours; the writer has descriptors of its own unless they would be misread."""
        for watches, seen in enumerate(("3 threads, 1 apart, 0 and 0 not judged\n",
                                        "3 threads, 1 apart, 0 and 0 not judged\n",
                                        "3 threads, 0 apart, 3 and 3 not judged\n")):
            with self.subTest(watches=watches):
                host = self.build("watched.c", "watched", f"-DWATCHES={watches}", "-rdynamic", *self.linked())
                run = self.run_host([host])
                self.assertEqual(run.seen, (0, seen, ""))


class RealLibraries(ShimTest):
    """NVIDIA's own runtime and cublasLt, where they are installed. They do not accept a simulated driver;
    what they look up before they find out has the same outcome with and without the shim, only that the shim
    is found."""

    def lookups(self, library, program, preload):
        recorder = self.build("lookups.c", "lookups.so")
        rows = self.folder / "rows"
        rows.unlink(missing_ok=True)
        done = self.run_host([sys.executable, "-c", program, library], [recorder, *preload], LOOKUPS=rows)
        return done.seen, rows.read_text(encoding="utf-8").splitlines() if rows.exists() else []

    def check(self, name, program, at_least):
        library = CUDA / "lib64" / name
        if not library.exists():
            self.skipTest(optional.lacks("toolkit", name))
        seen_alone, alone = self.lookups(library, program, [])
        seen, rows = self.lookups(library, program, [SHIM])
        self.assertEqual(seen, seen_alone)
        self.assertEqual([row.replace(" shim", " driver") for row in rows], alone)
        found = [row for row in rows if row.endswith(" shim")]
        self.assertGreaterEqual(len(found), at_least, rows)

    def test_the_runtime(self):
        self.check("libcudart.so.13", "import ctypes, os, sys\n"
                   "ctypes.CDLL(sys.argv[1]).cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))\n"
                   "os._exit(0)\n", 200)

    def test_cublaslt(self):
        self.check("libcublasLt.so.13", "import ctypes, os, sys\nctypes.CDLL(sys.argv[1])\nos._exit(0)\n", 10)
