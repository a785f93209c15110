"""Whose libraries a program has loaded is in its trace, and advice is in their words."""
import json
import shutil
import sys

import box
import preload

# A loop whose GPU waits for launches; the first words are libraries that it loads.
SOURCE = """
import ctypes, sys
for name in sys.argv[1:]:
    ctypes.CDLL(name)
from ctypes import byref, c_int, c_size_t, c_void_p
cuda = ctypes.CDLL("libcuda.so.1")
context, module, function, stream = c_void_p(), c_void_p(), c_void_p(), c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(byref(context), 0)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(byref(module), b"made up")
cuda.cuModuleGetFunction(byref(function), module, b"solve__2us")
cuda.cuStreamCreate(byref(stream), 1)
for step in range(60):
    ctypes.CDLL(None).gpushim_step()
    for i in range(40):
        cuda.cuLaunchKernel(function, 900, 1, 1, 256, 1, 1, 0, stream, None, None)
    cuda.cuStreamSynchronize(stream)
"""


class Frameworks(preload.PreloadCase):
    def told(self, *libraries):
        """(what the trace says, the finding for launches)"""
        program = self.folder / "loop.py"
        program.write_text(SOURCE, encoding="utf-8")
        any_library = box.BUILD / "sim" / "libgpusim.so"
        paths = [self.folder / library for library in libraries]
        for path in paths:
            shutil.copy(any_library, path)
        out = self.folder / "trace.db"
        out.unlink(missing_ok=True)
        done = box.run([sys.executable, program, *paths],
                       {**preload.variables(self.folder), "GPUSHIM_OUT": out, "GPUSHIM_BUDGET": "100%",
                        "GPUSIM_CLOCK": "stepped", "GPUSIM_LAUNCH_NS": 20_000})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(box.run([preload.ANALYZER, "report", out, "--json"]).stdout)
        found, = (one for one in report["findings"] if one["id"] == "launch_bound")
        return preload.query(out, "SELECT value FROM meta WHERE key = 'frameworks'"), found["try"]

    def test_advice_is_in_the_words_of_what_is_loaded(self):
        told, text = self.told("libtorch_cuda.so")
        self.assertIn("pytorch", told[0][0].split(","))
        self.assertIn("torch.compile", text)
        self.assertNotIn("jax", text)

    def test_a_program_of_no_framework_is_told_of_none(self):
        told, text = self.told()
        self.assertIn(told, ([("none",)], [("python",)]))  # as this interpreter is linked
        self.assertIn("cudaStreamBeginCapture", text)
        for word in ("torch", "tf.", "jax"):
            self.assertNotIn(word, text)

    def test_several_files_of_a_framework_are_one(self):
        told, _ = self.told("libtorch_cpu.so", "libtorch_cuda.so", "libjax_common.so")
        words = told[0][0].split(",")
        self.assertEqual([words.count("pytorch"), words.count("jax")], [1, 1])
