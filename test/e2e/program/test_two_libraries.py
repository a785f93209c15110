"""A driver behind a loader (the box's two/, as on WSL2): what the loader looks up it gets, so no call goes
past it; programs see what they see without us, and the trace has every call once."""
import re

import box
import preload
from shim_host import LAUNCHES, SHIM, ShimTest
from test_captures import PROGRAM
from test_doors import CALLS

TWO = f"{box.SIM}/two:{box.SIM}"


class TwoLibraries(ShimTest):
    def forwarded(self, command, **knobs):
        """Runs without and with us; {export: calls} as the loader has counted them with us."""
        count, counts, runs = self.folder / "forwarded", [], []
        for preloaded in (), (SHIM,):
            for trace in self.folder.glob("*.db"):
                trace.unlink()
            runs.append(self.run_host(command, preloaded, LD_LIBRARY_PATH=TWO, GPUSIM_FORWARDED=count,
                                      **knobs))
            said = re.findall(r"(\w+) (\d+)\n", count.read_text(encoding="utf-8"))
            counts.append({name: int(calls) for name, calls in said})
        without, with_shim = runs
        self.assertEqual(with_shim.seen, without.seen)
        self.assertEqual(with_shim.stdout, "7 launches, the bytes came back\n", with_shim.stderr)
        self.assertEqual({name: count for name, count in with_shim.hits.items() if count}, CALLS)
        self.assertEqual({name: with_shim.counts[name] for name in CALLS}, CALLS)
        self.assertEqual(self.recorded("launch"), LAUNCHES)
        return counts

    def way(self, way, *flags):
        return self.build("host.c", f"host_{way}", f"-DWAY={way}", *flags)

    def assert_loader_sees_all(self, counts):
        for count in counts:
            self.assertEqual({name: count.get(name, 0) for name in CALLS}, CALLS)

    def test_linked(self):
        for when in "lazy", "now":
            with self.subTest(when):
                self.assert_loader_sees_all(
                    self.forwarded([self.way("LINKED", *self.linked(), f"-Wl,-z,{when}")]))

    def test_opened(self):
        self.assert_loader_sees_all(self.forwarded([self.way("DLOPEN")]))

    def test_asked_of_the_driver(self):
        """What the driver behind hands out is nobody's export: it is known all the same."""
        for form in "PROC1", "PROC2":
            with self.subTest(form):
                self.forwarded([self.way(form)])

    def test_a_driver_that_calls_itself(self):
        """By exported names, which are ours: how often the loader sees those is not the program's affair."""
        self.forwarded([self.way("DLOPEN")], GPUSIM_SELF_CALLS="3")


class Timed(preload.PreloadCase):
    def test_a_program_with_device_times(self):
        """The same results and kernels, and all of them in the trace."""
        program = preload.compiled(PROGRAM, self.folder / "program", "-l:libgpusim.so")
        truth = self.folder / "truth"
        shown = []
        for name, knobs in ("without", {}), ("with", preload.variables(self.folder)):
            knobs = {**knobs, "LD_LIBRARY_PATH": TWO, "GPUSIM_CLOCK": "stepped",
                     "GPUSIM_TRUTH": f"{truth}.{name}"}
            done = box.run([program, "ended"], knobs, cwd=self.folder)
            shown.append((done.returncode, done.stdout, done.stderr))
        self.assertEqual(shown[0], shown[1])
        self.assertEqual(shown[0][0], 0, shown)
        trace = self.the_trace()
        self.assert_nothing_lost(trace)
        self.assertEqual(preload.launches(trace), preload.true_launches(f"{truth}.with"))
        self.assertEqual(preload.true_launches(f"{truth}.with"), preload.true_launches(f"{truth}.without"))
        (timed,), = preload.query(trace, "SELECT count(*) FROM launch_device")
        self.assertGreater(timed, 0)
