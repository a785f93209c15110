"""scripts/deps where something is missing: on a machine of our making, with the commands that it may find in
one folder, and an apt-get and a pip that only say what they were asked."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import box

TOOLS = "sh dirname awk grep cat id mkdir rm cp ln sort tr mktemp".split()
PRESENT = "g++ make nm python3".split()
HEADERS = ("cuda.h cuda_runtime_api.h cupti_activity.h cudaTypedefs.h crt/host_config.h cudaProfiler.h "
           "nv/target nvtx3/nvToolsExt.h nvml.h nccl.h")


class Deps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-deps-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.bin = self.root / "bin"
        self.bin.mkdir()
        (self.root / "scripts").mkdir()
        shutil.copy(box.ROOT / "scripts" / "deps", self.root / "scripts")
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for tool in PRESENT:
            self.command(tool, "exit 1")
        self.command("apt-get", f'echo "$@" >>{self.root}/asked')
        self.cuda = self.root / "cuda" / "include"
        self.header_texts(13000, 13, 28)

    def command(self, name, text):
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def header_texts(self, cuda, nvml, nccl_minor):
        for name in HEADERS.split():
            (self.cuda / name).parent.mkdir(parents=True, exist_ok=True)
            (self.cuda / name).write_text("", encoding="utf-8")
        (self.cuda / "cuda.h").write_text(f"#define CUDA_VERSION {cuda}\n", encoding="utf-8")
        (self.cuda / "nvml.h").write_text(f"#define NVML_API_VERSION   {nvml}  //!< one\n", encoding="utf-8")
        nccl = f"#define NCCL_MAJOR 2\n#define NCCL_MINOR {nccl_minor}\n"
        (self.cuda / "nccl.h").write_text(nccl, encoding="utf-8")

    def deps(self, *words, **variables):
        env = {"PATH": str(self.bin), "CUDA_HOME": str(self.cuda.parent), **variables}
        done = subprocess.run([str(self.root / "scripts" / "deps"), *words], env=env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        asked = self.root / "asked"
        return done.returncode, done.stdout, asked.read_text(encoding="utf-8") if asked.exists() else ""

    def test_all_there(self):
        self.assertEqual(self.deps(), (0, "", ""))
        told = (self.root / "build" / "deps.mk").read_text(encoding="utf-8")
        self.assertIn(f"CUDA_INCLUDE := {self.cuda}\n", told)
        nccl = self.root / "build" / "include" / "nccl.h"
        self.assertEqual(nccl.resolve(), (self.cuda / "nccl.h").resolve())

    def test_root_installs_what_is_missing(self):
        (self.bin / "g++").unlink()
        self.command("id", "echo 0")
        status, said, asked = self.deps()
        self.assertEqual((status, said), (0, "deps: apt-get install -y --no-install-recommends g++\n"))
        self.assertEqual(asked, "update\ninstall -y --no-install-recommends g++\n")

    def test_others_are_told_the_one_command(self):
        (self.bin / "g++").unlink()
        (self.bin / "nm").unlink()
        self.command("id", "echo 1000")
        status, said, asked = self.deps()
        self.assertEqual((status, asked), (1, ""))
        self.assertIn("sudo apt-get install -y --no-install-recommends g++ binutils\n", said)

    def test_groups(self):
        self.command("id", "echo 1000")
        self.assertIn(" clang-format shellcheck\n", self.deps("check")[1])
        self.assertIn(" clang-format shellcheck git clang-14\n", self.deps("ci")[1])
        self.assertIn("what is 'all'?", self.deps("all")[1])

    def test_failing_installation_is_shown(self):
        (self.bin / "g++").unlink()
        self.command("id", "echo 0")
        self.command("apt-get", "echo no such archive; exit 100")
        status, said, _ = self.deps()
        self.assertEqual(status, 1)
        self.assertEqual(said.splitlines()[1:], ["no such archive", "deps: could not install: g++"])

    PIP = """[ "$*" = "-m pip --version" ] && exit
case $* in *" pip download "*) for wheel; do :; done; echo "$wheel" >>{0}/asked; exit {1} ;; esac"""

    def wheels_asked(self, **variables):
        self.command("python3", self.PIP.format(self.root, 1))
        status, said, asked = self.deps(**variables)
        self.assertEqual(status, 1)
        self.assertIn("deps: no wheel nvidia-", said)
        self.assertIn("set CUDA_HOME", said)
        return asked.split("==")[0]

    def test_old_headers_are_not_taken(self):
        self.header_texts(13000, 12, 28)
        self.assertEqual(self.wheels_asked(), "nvidia-nvml-dev")

    def test_other_nccl_is_not_taken(self):
        self.header_texts(13000, 13, 27)
        found = self.root / "build" / "include" / "nccl.h"
        self.command("python3", self.PIP.format(self.root, 1))
        status, _, asked = self.deps()
        if status == 0:  # the machine that runs this test has a right one in a place that is always looked at
            self.assertNotEqual(found.resolve(), (self.cuda / "nccl.h").resolve())
        else:
            self.assertEqual(asked.split("==")[0], "nvidia-nccl-cu13")

    def test_older_cuda_is_not_taken(self):
        self.header_texts(12080, 13, 28)
        self.command("python3", self.PIP.format(self.root, 1))
        status, _, asked = self.deps()
        if status == 0:  # as above
            told = (self.root / "build" / "deps.mk").read_text(encoding="utf-8")
            self.assertNotIn(f"CUDA_INCLUDE := {self.cuda}\n", told)
        else:
            self.assertEqual(asked.split("==")[0], "nvidia-cuda-cccl")

    def test_headers_can_be_refused(self):
        self.assertEqual(self.wheels_asked(HEADERS="wheel"), "nvidia-cuda-cccl")


if __name__ == "__main__":
    unittest.main()
