"""What NVML shows beside a traced program: on the box, where there is none, and where it is odd."""
import os
import pathlib
import subprocess

import box
import preload

SOURCES = pathlib.Path(__file__).resolve().parent / "nvml_traced"
GIB = 1 << 30
TURNS = 10


class NvmlTraced(preload.PreloadCase):
    def setUp(self):
        super().setUp()
        source = (SOURCES / "busy.c").read_text(encoding="utf-8")
        self.program = preload.compiled(source, self.folder / "busy")

    def busy(self, *words, device=0, milliseconds=3500, **options):
        return self.traced([self.program, device, milliseconds, *words], **options)

    def rows(self, sql):
        return preload.query(self.the_trace(), sql)

    def values_of(self, key):
        return [value for value, in self.rows(f"SELECT value FROM nvml WHERE key = '{key}' ORDER BY mono_ns")]

    def odd_library(self):
        """The library path with another libnvidia-ml in front."""
        folder = self.folder / "odd"
        folder.mkdir()
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-o", folder / "libnvidia-ml.so.1",
                        SOURCES / "odd_nvml.c"], check=True)
        return f"{folder}:{box.SIM}"

    def report(self):
        done = box.run([preload.ANALYZER, "report", "--all", self.the_trace()], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_devices_that_are_used_are_sampled(self):
        self.busy(device=1, GPUSIM_DEVICES=2, GPUSIM_SM_MHZ=1500, GPUSIM_THROTTLE=4, GPUSIM_NAME="Z9")
        samples = self.rows("SELECT device_id, device, sm_mhz, throttle_reasons & 4, memory_total_bytes,"
                            " gpu_busy_percent > 10, power_mw > 70000, performance_state FROM v_nvml"
                            " ORDER BY mono_ns")
        self.assertGreaterEqual(len(samples), 2)
        # The first is of a second in which hardly anything ran.
        self.assertEqual(set(samples[1:]), {(1, "Simulated Z9", 1500, 4, 16 * GIB, 1, 1, 0)})
        links = self.rows("SELECT link, links FROM v_topology WHERE device_id = 1 AND peer_id = 0")
        self.assertEqual(sorted(links), [("nvlink 4.0", 18), ("one switch", None)])
        self.assertEqual(self.rows("SELECT links FROM v_topology WHERE peer_id IS NULL AND link = 'pcie 5'"),
                         [(16,), (16,)])
        text = self.report()
        self.assertRegex(text, r"DEVICES +GPU.*busy.*\n.* 1 +Simulated Z9 .* 1500/1500 MHz .* power cap 100%")

    def test_a_sample_each_second(self):
        self.busy()
        times = [time for time, in self.rows("SELECT DISTINCT mono_ns FROM nvml ORDER BY mono_ns")]
        started, = self.rows("SELECT value FROM meta WHERE key = 'started_mono_ns'")[0]
        self.assertGreaterEqual(times[0] - started, 200_000_000)
        # Never two for one second, however late the first was; and the first and the last are apart.
        seconds = [(time - started) // 1_000_000_000 for time in times[1:-1]]
        self.assertEqual(len(set(seconds)), len(seconds), times)

    def test_the_last_sample_is_of_the_programs_end(self):
        """Asked before NVML's own exit handlers: all that is asked each second, and once. An exit waits for
        it a tenth of a second at most, in which a busy machine may not come to it: then it is tried again."""
        for _ in range(TURNS):
            for trace in self.traces():
                trace.unlink()
            self.busy(milliseconds=700)
            counts = dict(self.rows("SELECT mono_ns, count(*) FROM nvml GROUP BY mono_ns"))
            last_call, = self.rows("SELECT max(enter_ns + dur_ns) FROM v_all")[0]
            if max(counts) >= last_call:
                break
        self.assertGreaterEqual(len(counts), 2, counts)  # more where 700 ms last for longer than a second
        self.assertEqual(len(set(counts.values())), 1, counts)
        self.assertEqual([at for at in counts if at >= last_call], [max(counts)])
        first, *_, last = self.values_of("energy_mj")
        self.assertGreater(last, first)

    def test_the_end_does_not_wait_for_what_is_slow(self):
        """A key that takes 60 ms would be asked again by now, and the exit handler gives it all 20."""
        self.busy(milliseconds=5600, LD_LIBRARY_PATH=self.odd_library())
        last, keys = self.rows("SELECT mono_ns, group_concat(key) FROM nvml GROUP BY mono_ns"
                               " ORDER BY mono_ns DESC LIMIT 1")[0]
        last_call, = self.rows("SELECT max(enter_ns + dur_ns) FROM v_all")[0]
        self.assertGreaterEqual(last, last_call)
        self.assertIn("power_mw", keys)
        self.assertNotIn("sm_mhz", keys)

    def test_a_process_that_ends_at_once_is_spared_nvml(self):
        self.busy(milliseconds=100)
        self.assertEqual(self.values_of("energy_mj"), [])

    def test_stepped_time_has_its_own_seconds(self):
        self.busy(milliseconds=500, GPUSIM_CLOCK="stepped", GPUSIM_POWER_W=470)
        samples = self.rows("SELECT mono_ns, power_mw FROM v_nvml ORDER BY mono_ns")
        self.assertGreater(len(samples), 5)
        began = samples[0][0] - 200_000_000
        for number, (at, power) in list(enumerate(samples))[1:-1]:
            # The program is between two calls of a millisecond when its clock gets there.
            self.assertLess(abs(at - began - number * 1_000_000_000), 2_000_000)
            self.assertAlmostEqual(power, 70_000 + 400_000 * 0.98, delta=10_000)

    def test_without_the_library_nothing_is_recorded(self):
        bare = self.folder / "bare"
        bare.mkdir()
        for library in box.SIM.iterdir():
            if "nvidia-ml" not in library.name:
                os.symlink(library.resolve(), bare / library.name)
        self.busy(milliseconds=1500, LD_LIBRARY_PATH=bare)
        self.assertEqual(self.rows("SELECT 1 FROM nvml UNION ALL SELECT 1 FROM topology"), [])
        self.assert_nothing_lost(self.the_trace())
        self.assertRegex(self.report(), "DEVICES .*not recorded")

    def test_what_the_library_lacks_is_not_recorded(self):
        self.busy(LD_LIBRARY_PATH=self.odd_library())
        samples = len(self.values_of("power_mw"))
        self.assertGreaterEqual(samples, 2)
        self.assertEqual(set(self.values_of("power_mw")), {42000})
        self.assertEqual(set(self.values_of("throttle_reasons")), {4}, "the older name")
        self.assertEqual(self.values_of("performance_state"), [])
        self.assertEqual(self.values_of("memory_used_bytes"), [])
        # Of a sample, the energy comes before the state.
        self.assertEqual(self.values_of("energy_mj"), [0] + [1] * (samples - 1), "asked once")
        self.assertEqual(self.values_of("temperature_c"), [55] * (samples - 1), "asked again")
        self.assertEqual(self.values_of("sm_mhz"), [1000], "slow: every fifth second")
        self.assertEqual(self.rows("SELECT * FROM topology"), [])

    def test_the_program_has_the_same_nvml(self):
        done = self.busy("power", milliseconds=100, LD_LIBRARY_PATH=self.odd_library())
        self.assertEqual(done.stdout, "42000\n")

    def test_a_fork_inherits_no_lock_of_nvml(self):
        done = self.busy("fork", milliseconds=100, LD_LIBRARY_PATH=self.odd_library())
        self.assertEqual(done.stdout, "0\n")

    def test_a_process_ends_while_nvml_is_asked(self):
        self.busy("inside", milliseconds=100, LD_LIBRARY_PATH=self.odd_library())
        self.assert_nothing_lost(self.the_trace())
