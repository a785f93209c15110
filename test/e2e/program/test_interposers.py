"""Another tool that hooks the same names or dlsym itself, before and behind the shim: neither goes blind, and
the program does not notice."""
from shim_host import LAUNCHES, SHIM, ShimTest

TOOLS = {
    "exports the name": ["-DEXPORTS"],
    "exports the name, finds the original by handle": ["-DEXPORTS", "-DBY_HANDLE"],
    "hooks dlsym": ["-DHOOKS_DLSYM"],
    "hooks dlsym and exports the name": ["-DHOOKS_DLSYM", "-DEXPORTS"],
}


class Interposers(ShimTest):
    def check(self, way):
        host = self.build("host.c", "host", f"-DWAY={way}", *(self.linked() if way == "LINKED" else []))
        for number, (what, flags) in enumerate(TOOLS.items()):
            tool = self.build("tool.c", f"tool{number}.so", "-O2", *flags)
            alone = self.run_host([host], preload=[tool])
            for order in ([tool, SHIM], [SHIM, tool]):
                with self.subTest(tool=what, first=order[0].name):
                    run = self.run_host([host], preload=order)
                    self.assertEqual(run.seen, alone.seen)
                    self.assertEqual(run.hits["cuLaunchKernel"], LAUNCHES)
                    self.assertEqual(run.tool, alone.tool, "it saw something else than alone")
                    self.assertEqual(run.hits["untouched"], 0)

    def test_a_linked_program(self):
        self.check("LINKED")

    def test_a_program_that_opens_the_driver(self):
        self.check("DLOPEN")

    def test_a_program_that_asks_the_driver(self):
        self.check("PROC2")

    def test_what_other_libraries_find_behind_themselves(self):
        """RTLD_NEXT and RTLD_DEFAULT of others mean what they meant, however our frame looks."""
        for optimised in ("-O0", "-O2"):
            wrapper = self.build("next.c", f"wrapper{optimised}.so", optimised, "-DWRAPPER")
            host = self.build("next.c", f"next{optimised}", optimised)
            for order in ([wrapper, SHIM], [SHIM, wrapper]):
                with self.subTest(optimised=optimised, first=order[0].name):
                    alone = self.run_host([host], preload=[wrapper])
                    self.assertEqual(self.run_host([host], preload=order).seen, alone.seen)
                    self.assertIn("wrapped, then the original", alone.stdout)

    def test_two_copies_of_the_shim_record_once(self):
        copy = self.folder / "copy" / "libgpushim.so"
        copy.parent.mkdir()
        copy.write_bytes(SHIM.read_bytes())
        for way in ("DLOPEN", "LINKED"):
            with self.subTest(way=way):
                libraries = self.linked() if way == "LINKED" else []
                host = self.build("host.c", f"host_{way}", f"-DWAY={way}", *libraries)
                alone = self.run_host([host], preload=())
                run = self.run_host([host], preload=[SHIM, copy])
                self.assertEqual(run.seen, alone.seen)
                self.assertEqual(run.hits["cuLaunchKernel"], LAUNCHES)
                traces = list(self.folder.glob("*.db"))
                self.assertEqual(len(traces), 1, "one copy records")
                traces[0].unlink()
