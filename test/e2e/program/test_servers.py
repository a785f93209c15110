"""vLLM and SGLang with the library in front of them, as far as a machine without a GPU goes: they say and end
the same, and leave no trace; the library says nothing."""
import os

import box
import optional
import preload

VARIABLES = {"vllm": "GPUSHIM_VLLM_PYTHON", "sglang": "GPUSHIM_SGLANG_PYTHON"}
# What reads arguments and settings comes without an engine, which wants a GPU.
PROGRAMS = {
    "vllm": "import vllm; from vllm import LLM, SamplingParams; print(vllm.__version__,"
            " SamplingParams(temperature=0, max_tokens=4))",
    "sglang": "import sglang; from sglang.srt.server_args import ServerArgs;"
              " print(sglang.__version__, ServerArgs.__name__)",
}
REFUSED = {
    "vllm": "import vllm; from vllm import LLM; LLM(model='/nowhere')",
    "sglang": "import sglang; sglang.Engine(model_path='/nowhere')",
}


class Servers(preload.PreloadCase):
    def python(self, name):
        python = os.environ.get(VARIABLES[name])
        if not python:
            self.skipTest(optional.lacks(name))
        return python

    def run_both(self, python, program):
        """(without the library, with it); no driver is there, and caches are of a folder of its own."""
        words = [python, "-B", "-W", "ignore", "-c", program]
        knobs = {"HOME": self.folder, "XDG_CACHE_HOME": self.folder / "cache", "VLLM_NO_USAGE_STATS": 1,
                 "VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": 1, "PYTHONHASHSEED": 0}
        box.run(words, knobs, sim=False, timeout=400)  # makes the caches
        return (box.run(words, knobs, sim=False, timeout=400),
                box.run(words, {**knobs, **preload.variables(self.folder)}, sim=False, timeout=400))

    def check(self, name, programs, works):
        alone, traced = self.run_both(self.python(name), programs[name])
        self.assertEqual(alone.returncode == 0, works, alone.stderr)
        self.assertEqual((traced.returncode, traced.stdout), (alone.returncode, alone.stdout), traced.stderr)
        self.assertNotIn("gpushim", traced.stderr)
        self.assertEqual(list(self.folder.glob("*.db*")), [], "a program that used no GPU leaves no trace")

    def test_vllm_is_imported(self):
        self.check("vllm", PROGRAMS, True)

    def test_sglang_is_imported(self):
        self.check("sglang", PROGRAMS, True)

    def test_vllm_refuses_what_it_refuses(self):
        self.check("vllm", REFUSED, False)

    def test_sglang_refuses_what_it_refuses(self):
        self.check("sglang", REFUSED, False)
