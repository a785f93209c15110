"""The rules of test/check about the shim find what they are there to find."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import box


class ShimRules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-check-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def check(self, rule):
        env = {**box.environment(sim=False), "CHECK_FILES": "/dev/null", "GPUSHIM_BUILD": "build"}
        done = subprocess.run([str(box.ROOT / "test" / "check" / rule)], cwd=self.root, env=env, text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode == 0, done.stdout == "", done.stdout)
        return done.stdout


class Hooks(ShimRules):
    def setUp(self):
        super().setUp()
        for path in ("shim/calls/cuda.def", "shim/calls/nccl.def", "shim/calls/newer_nccl.h",
                     "test/sim/exports.def", "build/deps.mk"):
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(box.ROOT / path, self.root / path)
        os.symlink(box.ROOT / "build" / "include", self.root / "build" / "include")

    def said_after(self, table, old, new):
        path = self.root / "shim" / "calls" / table
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")
        return self.check("hooks")

    def test_as_it_is(self):
        self.assertEqual(self.check("hooks"), "")

    def test_a_wrong_version(self):
        said = self.said_after("cuda.def", "HOOK(cuModuleLoadDataEx, 2010,", "HOOK(cuModuleLoadDataEx, 2020,")
        self.assertEqual(said, "cuda.def: cuModuleLoadDataEx has version 2020, the driver says 2010\n")

    def test_no_such_export(self):
        said = self.said_after("cuda.def", "HOOK(cuFuncLoad,", "HOOK(cuFuncLode,")
        self.assertIn("cuFuncLode is no export", said)
        self.assertIn("cuFuncLoad is of a family that is to be complete", said)

    def test_a_missing_twin(self):
        said = self.said_after("cuda.def", "HOOK_PTSZ(cuLaunchHostFunc,", "HOOK(cuLaunchHostFunc,")
        self.assertEqual(
            said, "cuda.def: cuLaunchHostFunc_ptsz is a form of a hooked name and is not hooked\n")

    def test_a_missing_function_of_nccl(self):
        said = self.said_after("nccl.def", "HOOK(ncclGather,", "HOOK(ncclGatter,")
        self.assertEqual(said, "nccl.def: ncclGatter is not declared in nccl.h\n"
                         "nccl.def: ncclGather is missing\n")


class Library(ShimRules):
    FLAGS = ["-Wl,-z,now,-z,relro,-z,nodelete", "-Wl,--no-as-needed"]

    def setUp(self):
        super().setUp()
        objects = self.root / "build" / "obj" / "shim"
        for room in ("calls", "hooks", "program"):
            (objects / room).mkdir(parents=True)
        (self.root / "shim").mkdir()
        shutil.copy(box.ROOT / "shim" / "rooms.list", self.root / "shim")
        (objects / "hooked.names").write_text("cuInit\nncclSend\n", encoding="utf-8")
        names = ("cuInit", "ncclSend", "dlsym", "dlvsym", "gpushim_hits", "InitializeInjectionNvtx2")
        self.source = "".join(f"void {name}(void) {{}}\n" for name in names)

    def said_of(self, source, *flags):
        (self.root / "lib.c").write_text(source, encoding="utf-8")
        library = self.root / "build" / "libgpushim.so"
        source = self.root / "lib.c"
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", library, source, *flags], check=True)
        return self.check("shim_library")

    def test_as_it_should_be(self):
        self.assertEqual(self.said_of(self.source, *self.FLAGS), "")

    def test_exports(self):
        self.assertEqual(self.said_of(self.source + "void sqlite3_open(void) {}", *self.FLAGS),
                         "exports sqlite3_open\n")
        self.assertEqual(self.said_of(self.source.replace("cuInit(", "gpushim_x("), *self.FLAGS),
                         "does not export cuInit\n")

    def test_libraries_and_how_it_is_linked(self):
        self.assertEqual(self.said_of(self.source, *self.FLAGS, "-lstdc++"), "needs libstdc++.so.6\n")
        self.assertEqual(self.said_of(self.source, "-Wl,-z,now,-z,relro"), "is not linked NODELETE\n")
        lazy = self.said_of(self.source, "-Wl,-z,relro,-z,nodelete,-z,lazy")
        self.assertEqual(lazy, "is not linked BIND_NOW\n")

    def test_names_from_nowhere(self):
        self.assertIn("leaves undefined: nowhere",
                      self.said_of(self.source + "void nowhere(void); void gpushim_y(void) { nowhere(); }",
                                   "-Wl,-z,relro,-z,nodelete,-z,now"))

    def test_a_newer_libc(self):
        said = self.said_of(self.source + "unsigned arc4random(void); unsigned gpushim_y(void) "
                            "{ return arc4random(); }", *self.FLAGS)
        self.assertEqual(said, "libgpushim.so needs GLIBC_2.36\n")

    def object(self, name, text):
        source = self.root / "object.cpp"
        source.write_text(text, encoding="utf-8")
        subprocess.run(["g++", "-c", "-fPIC", "-o", str(self.root / "build" / "obj" / "shim" / f"{name}.o"),
                        str(source)], check=True)
        return self.said_of(self.source, *self.FLAGS)

    def test_code_at_start_up(self):
        self.assertIn("program/names.o runs code at start-up or exit: constinit",
                      self.object("program/names", "int f(); int x = f();"))

    def test_allocation_on_the_hot_side(self):
        self.assertEqual(self.object("hooks/thunk", "int* f() { return new int; }"),
                         "hooks/thunk.o uses operator new(unsigned long)\n")

    def test_a_call_of_libc_in_the_look_up(self):
        text = "#include <string.h>\nsize_t f(const char* a) { return strlen(a); }"
        self.assertEqual(self.object("calls/elf", text), "calls/elf.o calls strlen\n")


class Rooms(ShimRules):
    def setUp(self):
        super().setUp()
        self.write("rooms.list", "# from the ground up\nbase\nring hot\nwriter\nall top.h\n")
        self.write("base/clock.h", "")
        self.write("ring/rings.h", '#include "../base/clock.h"\n#include "slot.h"\n')
        self.write("ring/slot.h", "")
        self.write("writer/drain.cpp", '#include <ring/none.h>\n#include "shim/ring/rings.h"\n')
        self.write("top.h", '#include "writer/drain.h"\n')

    def write(self, name, text):
        path = self.root / "shim" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_what_stands_in_order(self):
        self.assertEqual(self.check("rooms"), "")

    def test_a_room_before_that_of_what_it_includes(self):
        self.write("base/log.cpp", '#include "../ring/slot.h"\n')
        self.write("ring/slot.h", '  # include "shim/writer/drain.cpp"\n')
        self.assertEqual(self.check("rooms"),
                         "shim/base/log.cpp includes shim/ring/slot.h, whose room comes after its own\n"
                         "shim/ring/slot.h includes shim/writer/drain.cpp, whose room comes after its own\n")

    def test_the_top_is_open_where_the_list_says_so(self):
        self.write("base/log.cpp", '#include "../top.h"\n#include "../other.h"\n')
        self.write("other.h", "")
        self.assertEqual(self.check("rooms"),
                         "shim/base/log.cpp includes shim/other.h, whose room comes after its own\n")

    def test_a_folder_that_is_no_room(self):
        self.write("attic/old.h", "")
        self.assertEqual(self.check("rooms"), "shim/attic/old.h: its folder is no room of shim/rooms.list\n")
