"""The stand-in libcudart.so.13: its look-ups, and programs of the runtime API on the box.

The programs are test/e2e/simulated/cudart/*.cpp, built here by the compiler of the build, and one *.cu where
nvcc is.
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import box
import optional

SOURCES = box.ROOT / "test" / "e2e" / "simulated" / "cudart"
LOOKUPS = box.ROOT / "test" / "sim" / "cudart" / "lookups.def"
STAND_IN = box.SIM / "libcudart.so.13"
TOOLKIT = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))

PER_THREAD = "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"


def nvcc():
    return shutil.which("nvcc") or shutil.which(TOOLKIT / "bin" / "nvcc")


def toolkit_runtime():
    library = TOOLKIT / "lib64" / STAND_IN.name
    return library if library.exists() else None


def record_lookups(*arguments):
    """Those that a libcudart makes (the toolkit's, unless told otherwise) against the table."""
    script = box.ROOT / "scripts" / "record-cudart-lookups"
    return box.run([script, "--check", LOOKUPS, *arguments], sim=False)


def machine_has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Cudart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.truth = self.folder / "truth"

    def compile(self, command, source, *libraries):
        program = self.folder / source.stem
        done = box.run([*command, source, "-o", program, *libraries], sim=False, cwd=box.ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def build(self, name, *flags):
        """A program of test/e2e/simulated/cudart by the compiler and with the flags of the build."""
        compiler = (box.BUILD / "compile.flags").read_text(encoding="utf-8").split()
        return self.compile([*compiler, *flags], SOURCES / f"{name}.cpp", STAND_IN)

    def passes(self, program, **knobs):
        done = box.run([program], {"GPUSIM_TRUTH": self.truth, "GPUSIM_CLOCK": "stepped", **knobs})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def entered(self, export):
        count = box.read_counts(f"{self.truth}.counts").get(export)
        return count.entered if count else 0

    def launches(self, name):
        return sum(row.name == name for row in box.read_truth(self.truth))


class Lookups(Cudart):
    def rows(self):
        lines = LOOKUPS.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith("LOOKUP")]

    def test_there_are_440(self):
        rows = self.rows()
        self.assertEqual(len(rows), 440)
        self.assertEqual(sum(row.endswith(", 2)") for row in rows), 74)
        self.assertEqual(rows[0], "LOOKUP(, 0, 0)")

    def test_the_stand_in_makes_them_in_order(self):
        done = record_lookups("--library", STAND_IN)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_box_sees_them_once(self):
        self.passes(self.build("first_call"))
        self.assertEqual(self.entered("cuGetProcAddress_v2"), len(self.rows()))
        self.assertEqual(self.entered("cuInit"), 1)

    def test_none_are_made_by_a_program_that_calls_nothing(self):
        program = self.build("no_call")
        self.passes(program)
        self.assertFalse(self.truth.with_name("truth.counts").exists())


class WithoutDriver(Cudart):
    def first_call(self, **knobs):
        return box.run([self.build("first_call")], knobs)

    @unittest.skipIf(machine_has_driver(), optional.lacks("no_driver"))
    def test_a_missing_driver_is_an_error_of_the_runtime(self):
        alone = self.folder / "alone"
        alone.mkdir()
        (alone / STAND_IN.name).symlink_to(STAND_IN)
        program = self.build("first_call")
        done = subprocess.run([program], env={**box.environment(sim=False), "LD_LIBRARY_PATH": str(alone)},
                              stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout, "cudaErrorInsufficientDriver cudaErrorInsufficientDriver\n")

    def test_a_driver_that_does_not_start_tells_why(self):
        done = self.first_call(GPUSIM_FAIL="cuInit:1:100")
        self.assertEqual(done.stdout, "cudaErrorNoDevice cudaErrorNoDevice\n")

    def test_an_entry_the_driver_lacks_needs_a_newer_one(self):
        done = self.first_call(GPUSIM_MISSING="cuDeviceGetCount")
        self.assertEqual(done.stdout, "cudaErrorCallRequiresNewerDriver cudaErrorCallRequiresNewerDriver\n")


class Programs(Cudart):
    def test_memory(self):
        self.passes(self.build("memory"))
        self.assertGreater(self.entered("cuMemcpyHtoD_v2"), 0)
        self.assertEqual(self.entered("cuMemcpyHtoD_v2_ptds"), 0)

    def test_memory_with_per_thread_default_streams(self):
        self.passes(self.build("memory", PER_THREAD))
        self.assertGreater(self.entered("cuMemcpyHtoD_v2_ptds"), 0)
        self.assertEqual(self.entered("cuMemcpyHtoD_v2"), 0)

    def test_streams(self):
        self.passes(self.build("streams"))
        self.assertGreater(self.entered("cuEventRecord"), 0)
        self.assertEqual(self.entered("cuEventRecord_ptsz"), 0)

    def test_streams_with_per_thread_default_streams(self):
        self.passes(self.build("streams", PER_THREAD))
        self.assertGreater(self.entered("cuEventRecord_ptsz"), 0)
        self.assertEqual(self.entered("cuEventRecord"), 0)

    def test_graphs(self):
        self.passes(self.build("graphs"))
        self.assertEqual(self.launches("captured__20us"), 2 * 3)
        self.assertEqual(self.launches("placed__30us"), 4 + 1 + 1)

    def test_devices(self):
        self.passes(self.build("devices"), GPUSIM_DEVICES=2)

    def test_an_error_that_stays(self):
        self.passes(self.build("sticky"))

    @unittest.skipUnless(nvcc(), optional.lacks("toolkit", "nvcc"))
    def test_a_program_of_nvcc(self):
        program = self.compile([nvcc(), "-cudart", "shared"], SOURCES / "kernels.cu")
        self.passes(program)
        self.assertEqual(self.launches("scale__40us"), 3 + 3 + 5)
        self.assertEqual(self.launches("shared__10us"), 1)


class Names(Cudart):
    """What a program may link."""

    # Graphics of other systems, and what only other forms of nvcc's code call.
    ABSENT = ("cudaEGL", "cudaGL", "cudaVDPAU", "cudaGraphicsEGL", "cudaGraphicsGL", "cudaGraphicsVDPAU",
              "cudaEventCreateFromEGLSync", "cudaGraphicsResourceGetMappedEglFrame", "__cudaGetProcAddress",
              "__cudaRegisterHostVar", "__cudaRegisterUnifiedTable")

    def exports(self, library):
        done = box.run(["nm", "-D", "--defined-only", library], sim=False)
        return {line.split()[-1] for line in done.stdout.splitlines() if "@@" in line}

    def test_all_are_of_one_version(self):
        exports = self.exports(STAND_IN)
        self.assertIn("cudaLaunchKernel@@libcudart.so.13", exports)
        self.assertTrue(all(name.endswith("@@libcudart.so.13") for name in exports), exports)

    @unittest.skipUnless(toolkit_runtime(), optional.lacks("toolkit", "libcudart"))
    def test_names_are_those_of_the_toolkit(self):
        with self.subTest("look-ups of the real runtime, in order"):
            done = record_lookups()
            self.assertEqual(done.returncode, 0, done.stderr)
        with self.subTest("functions of the runtime"):
            missing = self.exports(toolkit_runtime()) - self.exports(STAND_IN)
            self.assertEqual(sorted(name for name in missing if not name.startswith(self.ABSENT)), [])
        with self.subTest("errors"):
            libraries = (STAND_IN, toolkit_runtime())
            ours, theirs = (ctypes.CDLL(library).cudaGetErrorName for library in libraries)
            for name in (ours, theirs):
                name.restype = ctypes.c_char_p
            wrong = [error for error in range(10100) if ours(error) != theirs(error)]
            self.assertEqual(wrong[:5], [])
        with self.subTest("exports of the driver"):
            table = box.ROOT / "test" / "sim" / "exports.def"
            done = box.run([box.ROOT / "scripts" / "make-exports", "--check", table], sim=False)
            self.assertEqual(done.returncode, 0, done.stderr)
