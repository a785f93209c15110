"""A library that limits what a container gets of a GPU (doors/limits.c), before and behind the shim: limits
hold, the program sees what it sees without us, and each launch is in the trace once."""
from shim_host import LAUNCHES, SHIM, ShimTest

SEEN = "7 launches, the bytes came back\n100 of 100 MiB, of 100; 0, 2, 0\n"
# What the library has allowed: 1 KiB, and two of the three that are too large together.
TOOL = 10_000 * 1 + 100 * LAUNCHES + 3


class Limits(ShimTest):
    def check(self, way, **knobs):
        host = self.build("host.c", "host", f"-DWAY={way}", "-DLIMITED",
                          *(self.linked() if way == "LINKED" else []))
        # Linked to the driver or not; the names of its own functions may be bound to another's, or not.
        for flags in ["-Wl,--no-as-needed", *self.linked()], [], ["-Wl,-Bsymbolic"]:
            tool = self.build("limits.c", "limits.so", "-O2", *flags)
            alone = self.run_host([host], preload=[tool], **knobs)
            self.assertEqual(alone.seen, (0, SEEN, ""))
            for order in ([tool, SHIM], [SHIM, tool]):
                with self.subTest(way=way, first=order[0].name, flags=flags):
                    self.assert_both(self.run_host([host], preload=order, **knobs), alone, knobs)

    def assert_both(self, run, alone, knobs):
        recorded = self.recorded("launch")
        next(self.folder.glob("*.db")).unlink()
        self.assertEqual(run.seen, alone.seen)
        if "GPUSIM_SELF_CALLS" not in knobs:
            self.assertEqual(run.tool, TOOL, "it saw something else than alone")
        for name in "cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel":
            self.assertEqual(run.counts[name], alone.counts[name], name)
        self.assertEqual(run.hits["cuLaunchKernel"], LAUNCHES)
        self.assertEqual(run.hits["untouched"], 0)
        self.assertEqual(recorded, LAUNCHES)

    def test_a_linked_program(self):
        self.check("LINKED")

    def test_a_program_that_opens_the_driver(self):
        self.check("DLOPEN")

    def test_a_program_that_asks_the_driver(self):
        for form in "PROC1", "PROC2":
            with self.subTest(form):
                self.check(form)

    def test_switched_off(self):
        host = self.build("host.c", "host", "-DWAY=PROC2", "-DLIMITED")
        tool = self.build("limits.c", "limits.so", "-O2")
        for order in ([tool, SHIM], [SHIM, tool]):
            with self.subTest(first=order[0].name):
                run = self.run_host([host], preload=order, GPUSHIM_DISABLE="1")
                self.assertEqual((run.seen, run.tool), ((0, SEEN, ""), TOOL))

    def test_a_driver_that_calls_itself(self):
        self.check("DLOPEN", GPUSIM_SELF_CALLS="3")
