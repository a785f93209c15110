"""scripts/deps where something is missing: on a machine of our making, with the commands that it may find in
one folder, and an apt-get and a pip that only say what they were asked."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import box

TOOLS = "sh dirname awk grep cat mkdir rm cp ln sort tr mktemp".split()
PRESENT = "g++ make nm python3 sqlite3 jq tmux".split()
HAS_A_MODULE = '[ "$*" = "-c import jsonschema" ] && exit\n'
HEADERS = ("cuda.h cuda_runtime_api.h cupti_activity.h cudaTypedefs.h crt/host_config.h cudaProfiler.h "
           "nv/target nvtx3/nvToolsExt.h nvml.h nccl.h")
# What that machine has besides: nothing of the machine that runs the test is looked at.
THERE = ("include/catch2/catch.hpp include/sqlite3.h include/zlib.h include/spdlog/logger.h "
         "include/protozero/pbf_reader.hpp "
         "lib/x86_64-linux-gnu/libjemalloc.so.2 lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1").split()
APT = """echo "$@" >>{0}/asked
case $* in
*--print-uris*) echo "'http://a/g.deb' g 2100000 SHA256:0"; echo "'http://a/h.deb' h 900000 x" ;;
esac"""


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
        self.command("python3", HAS_A_MODULE + "exit 1")
        self.command("apt-get", APT.format(self.root))
        self.command("id", "echo 1000")
        for name in THERE:
            self.system(name)
        self.cuda = self.root / "cuda" / "include"
        self.header_texts(13000, 13, 28)

    def system(self, name):
        """A file below that machine's /usr."""
        path = self.root / "system" / "usr" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path

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
        env = {"PATH": str(self.bin), "CUDA_HOME": str(self.cuda.parent),
               "DEPS_ROOT": str(self.root / "system"), **variables}
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

    def test_root_installs_what_is_missing_and_is_told_its_size(self):
        (self.bin / "g++").unlink()
        self.command("id", "echo 0")
        status, said, asked = self.deps()
        line = "install -y --no-install-recommends g++"
        self.assertEqual((status, said), (0, f"deps: apt-get {line} (3 MB to download)\n"))
        self.assertEqual(asked, f"update\n{line.replace(' g++', ' --print-uris g++')}\n{line}\n")

    def told(self, said):
        """The one command that a user is told to run with sudo, as the packages that it installs."""
        install = "apt-get update && apt-get install -y --no-install-recommends"
        lines = re.findall(rf"sudo sh -c '{install} (.*)'$", said, re.MULTILINE)
        self.assertEqual((len(lines), said.count("sudo")), (1, 1), said)
        return lines[0]

    def test_others_are_told_the_one_command(self):
        (self.bin / "g++").unlink()
        (self.bin / "nm").unlink()
        status, said, asked = self.deps()
        size_asked = "install -y --no-install-recommends --print-uris g++ binutils\n"
        self.assertEqual((status, asked), (1, size_asked))
        self.assertEqual(self.told(said), "g++ binutils")
        self.assertIn("missing: g++ binutils (3 MB to download). Run this", said)

    def test_a_size_that_is_not_known_is_not_told(self):
        (self.bin / "g++").unlink()
        self.command("apt-get", "echo no list of packages yet >&2; exit 100")
        for user in ("1000", "0"):
            self.command("id", f"echo {user}")
            said = self.deps()[1]
            self.assertNotIn(" MB", said)
            self.assertIn("missing: g++. Run" if user != "0" else "could not install: g++", said)

    def test_the_one_command_brings_what_downloads_headers(self):
        (self.bin / "g++").unlink()
        shutil.rmtree(self.cuda)
        self.assertEqual(self.told(self.deps()[1]), "g++ python3-pip")

    def test_headers_that_were_fetched_need_nothing_more(self):
        include = self.root / "build" / "cuda" / "include"
        shutil.copytree(self.cuda, include)
        for name in ("nvml.h", "nccl.h"):
            (self.root / "build" / "include").mkdir(exist_ok=True)
            (include / name).rename(self.root / "build" / "include" / name)
        shutil.rmtree(self.cuda)
        self.assertEqual(self.deps(), (0, "", ""))

    def test_without_a_browser_all_goes_on(self):
        status, said, _ = self.deps("browser")
        self.assertEqual((status, self.told(said)), (0, "chromium"))
        self.command("id", "echo 0")
        self.command("apt-get", "echo no such archive; exit 100")
        self.assertEqual(self.deps("browser")[0], 0)
        (self.bin / "g++").unlink()
        self.assertEqual(self.deps("browser")[0], 1)

    def test_the_demo_asks_for_nothing_that_only_tests_need(self):
        for name in THERE:
            if "catch2" in name or "faketime" in name or "jemalloc" in name:
                (self.root / "system" / "usr" / name).unlink()
        for command in ("sqlite3", "jq", "tmux"):
            (self.bin / command).unlink()
        self.command("python3", "exit 1")
        self.assertEqual(self.deps("demo"), (0, "", ""))
        self.assertEqual(self.told(self.deps()[1]),
                         "catch2 libjemalloc2 libfaketime sqlite3 jq tmux python3-jsonschema")

    def test_groups(self):
        self.assertEqual(self.told(self.deps("check")[1]), "clang-format shellcheck")
        everything = "clang-format shellcheck git clang-14 libclang-rt-14-dev"
        self.assertEqual(self.told(self.deps("ci")[1]), everything)
        self.assertEqual(self.told(self.deps("bare")[1]), "debootstrap")
        self.assertIn("what is 'all'?", self.deps("all")[1])

    def test_libraries_are_looked_for_where_debian_has_them(self):
        self.system("lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.asan-x86_64.a")
        self.assertNotIn("libclang-rt", self.told(self.deps("ci")[1]))
        self.system(THERE[-1]).unlink()
        self.assertEqual(self.told(self.deps()[1]), "libfaketime")

    def test_failing_installation_is_shown(self):
        (self.bin / "g++").unlink()
        self.command("id", "echo 0")
        self.command("apt-get", "echo no such archive; exit 100")
        status, said, _ = self.deps()
        self.assertEqual(status, 1)
        self.assertEqual(said.splitlines(), ["no such archive", "deps: could not install: g++"])

    PIP = """[ "$*" = "-m pip --version" ] && exit
case $* in *" pip download "*) for wheel; do :; done; echo "$wheel" >>{0}/asked; exit {1} ;; esac"""

    def wheel_asked(self, **variables):
        """The first one; its size was said before."""
        self.command("python3", HAS_A_MODULE + self.PIP.format(self.root, 1))
        status, said, asked = self.deps(**variables)
        self.assertEqual(status, 1)
        self.assertIn("deps: no wheel nvidia-", said)
        self.assertIn("set CUDA_HOME", said)
        first = re.escape(asked.strip())
        self.assertRegex(said, rf"^deps: downloading {first} \(\d+\.\d MB\) for its headers\n")
        return asked.split("==")[0]

    def test_every_group_of_the_table_can_be_asked_for(self):
        text = (box.ROOT / "scripts" / "deps").read_text(encoding="utf-8")
        groups = set(re.findall(r"^(\w+) +(?:command|header|library|module)=", text, re.M)) - {"build"}
        self.assertLess({"launchers", "neighbours", "containers"}, groups)
        for group in sorted(groups):
            done = subprocess.run(["sh", self.root / "scripts" / "deps", group], cwd=self.root, check=False,
                                  env={"PATH": str(self.bin), "DEPS_ROOT": str(self.root / "system")},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.assertNotIn("what is", done.stderr)

    def test_old_headers_are_not_taken(self):
        self.header_texts(13000, 12, 28)
        self.assertEqual(self.wheel_asked(), "nvidia-nvml-dev")

    def test_other_nccl_is_not_taken(self):
        self.header_texts(13000, 13, 27)
        self.assertEqual(self.wheel_asked(), "nvidia-nccl-cu13")

    def test_older_cuda_is_not_taken(self):
        self.header_texts(12080, 13, 28)
        self.assertEqual(self.wheel_asked(), "nvidia-cuda-cccl")

    def test_headers_can_be_refused(self):
        self.assertEqual(self.wheel_asked(HEADERS="wheel"), "nvidia-cuda-cccl")
