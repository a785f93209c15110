"""NCCL's own view, told to its profiler plug-in: what the trace says of operations, channels and the
network, and that ours keeps out where the program has a plug-in."""
import pathlib
import re
import subprocess
import unittest

import box
import optional
import preload

FOLDER = pathlib.Path(__file__).resolve().parent / "nccl_view"
KNOBS = {"GPUSIM_DEVICES": 2, "GPUSIM_NCCL_NETWORK": 1}
STEPPED = {"GPUSIM_CLOCK": "stepped", **KNOBS}
OURS = "static_plugin\n"
# Of each rank: an all-reduce; a message, sent by rank 0 and received by rank 1.
OPERATIONS = [
    ("AllReduce", "RING", "SIMPLE", 1 << 20, None, 0, 1, 0),
    ("AllReduce", "RING", "SIMPLE", 1 << 20, None, 1, 1, 1),
    ("Send", None, None, 1 << 20, 1, 0, 1, 0), ("Recv", None, None, 1 << 20, 0, 1, 1, 1)]
OF_RANKS = (("AllReduce", (0, 1)), ("Send", (0,)), ("Recv", (1,)))
CHANNELS = [(function, rank, channel) for function, ranks in OF_RANKS for rank in ranks for channel in (0, 1)]


def real_nccl():
    """The real library beside its header, and in it the places of what real.c wants; or None."""
    for folder in box.include_folders():
        library = folder.parent / "lib/libnccl.so.2"
        if not library.exists():
            continue
        symbols = subprocess.run(["nm", library], text=True, check=False, capture_output=True).stdout
        wanted = ("_Z22ncclProfilerPluginInitP8ncclComm", "_Z26ncclProfilerPluginFinalizeP8ncclComm",
                  "ncclProfilerEventMask")
        found = [re.search(rf"^([0-9a-f]+) \w {name}$", symbols, re.MULTILINE) for name in wanted]
        if all(found):
            return [library, *(place.group(1) for place in found)]
    return None


def built(name, folder, *options):
    source = (FOLDER / f"{name}.c").read_text(encoding="utf-8")
    return preload.compiled(source, folder / name, "-l:libnccl.so.2", *options)


def plugin(folder, name="libnccl-profiler.so"):
    library = folder / name
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", FOLDER / "plugin.c", "-o", library], check=True)
    return library


class NcclView(preload.PreloadCase):
    def run_it(self, wanted="all", stdout=OURS, times=1, **knobs):
        """The trace of two ranks in one process."""
        program = self.folder / "two_ranks"
        if not program.exists():
            built("two_ranks", self.folder)
        for trace in self.traces():
            trace.unlink()
        done = self.traced([program, str(times)], GPUSHIM_NCCL_PROFILER=wanted, **{**STEPPED, **knobs})
        self.assertEqual(done.stdout, stdout)
        self.assert_nothing_lost(self.the_trace())
        return self.the_trace()

    def source(self, trace):
        """interface, refused; nothing else was lost."""
        rows = preload.query(trace,
                             "SELECT interface, refused, left_out, lost FROM nccl_source ORDER BY mono_ns")
        self.assertEqual(rows[-1][2:], (0, 0))
        return rows[-1][:2]

    def counts(self, trace):
        return preload.query(trace, """SELECT (SELECT count(*) FROM nccl_operation),
            (SELECT count(*) FROM nccl_channel), (SELECT count(*) FROM nccl_network)""")[0]

    def test_operations_are_those_that_the_program_asked_for(self):
        trace = self.run_it()
        self.assertEqual(preload.query(trace, """
            SELECT o.function, o.algorithm, o.protocol, o.count, o.peer, m.rank, o.seq, n.rank
            FROM v_nccl_operation o JOIN communicator m ON m.id = o.communicator_id
            JOIN nccl_communicator n ON n.id = o.nccl_communicator_id ORDER BY o.enter_ns"""), OPERATIONS)
        # By the same communicator and number, in the trace's own words.
        self.assertEqual(preload.query(trace, """
            SELECT c.api, o.function FROM v_nccl_operation o JOIN v_collective c
            ON c.communicator_id = o.communicator_id AND c.seq = o.seq AND c.peer IS o.peer
            ORDER BY o.enter_ns"""),
            [("ncclAllReduce", "AllReduce")] * 2 + [("ncclSend", "Send"), ("ncclRecv", "Recv")])
        self.assertEqual(self.source(trace), (5, None))

    def test_channels_ran_as_the_kernel_did(self):
        """The last channel ends with its kernel, channel 0 an eighth of that earlier."""
        trace = self.run_it()
        rows = preload.query(trace, """
            SELECT n.function, m.rank, n.channel, n.gpu_ns, n.dur_ns FROM v_nccl_channel n
            JOIN communicator m ON m.id = n.communicator_id ORDER BY n.operation, n.channel""")
        self.assertEqual([row[:3] for row in rows], CHANNELS)
        for first, last in zip(rows[::2], rows[1::2]):
            self.assertEqual(first[3], last[3] - last[3] // 8)
            self.assertEqual(last[3], last[4])

    def test_the_network_says_whom_it_waits_for(self):
        trace = self.run_it("network")
        self.assertEqual(self.counts(trace), (4, 0, 12))
        rows = preload.query(trace, """
            SELECT function, channel, peer, direction, steps, bytes, dur_ns,
              gpu_wait_ns, peer_wait_ns, network_wait_ns FROM v_nccl_network""")
        for _, _, _, direction, steps, size, dur_ns, *waits in rows:
            self.assertEqual((steps, size), (4, 2 << 20))
            shares = (0.25, 0.25, 0.5) if direction == "send" else (0.25, None, 0.75)
            for wait, share in zip(waits, shares):
                self.assertIs(wait is None, share is None)
                if share is not None:
                    self.assertAlmostEqual(wait, share * dur_ns, delta=16)
        self.assertEqual({row[:4] for row in rows if row[0] == "Send"},
                         {("Send", channel, 1, "send") for channel in (0, 1)})

    def test_each_interface_tells_what_it_has(self):
        """GPUSIM_NCCL_INTERFACE is the newest that NCCL asks for; ours are 1 to 6."""
        for newest in range(1, 8):
            with self.subTest(interface=newest):
                trace = self.run_it(GPUSIM_NCCL_INTERFACE=newest)
                self.assertEqual(self.source(trace), (min(newest, 6), None))
                self.assertEqual(self.counts(trace), (4, 8 if newest >= 3 else 0, 12))
                self.assertEqual(preload.query(trace, "SELECT DISTINCT rank IS NULL FROM nccl_communicator"),
                                 [(int(newest < 4),)])
                self.assertEqual(preload.query(trace, "SELECT count(gpu_ns) FROM nccl_channel"),
                                 [(8 if newest >= 4 else 0,)])
                self.assertEqual(preload.query(trace, """SELECT DISTINCT steps, bytes, peer_wait_ns IS NULL
                    FROM nccl_network WHERE sends"""), [(4, 2 << 20, int(newest < 4))])
                # Without ranks, which of two communicators of one group it is cannot be known.
                self.assertEqual(preload.query(trace, "SELECT count(seq) FROM nccl_operation"),
                                 [(4 if newest >= 4 else 0,)])

    def test_off_nothing_is_different(self):
        trace = self.run_it("off", stdout="none\n")
        self.assertEqual(self.counts(trace), (0, 0, 0))
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM nccl_source"), [(0,)])

    def test_disabled_nothing_is_different(self):
        program = built("two_ranks", self.folder)
        done = self.traced([program], GPUSHIM_DISABLE=1, GPUSHIM_NCCL_PROFILER="all", **STEPPED)
        self.assertEqual((done.stdout, self.traces()), ("none\n", []))

    def test_without_plug_ins_it_is_never_asked(self):
        self.assertEqual(self.source(self.run_it(GPUSIM_NCCL_INTERFACE=0)), (None, None))

    def test_a_child_of_a_traced_process_is_told_too(self):
        program = built("two_ranks", self.folder)
        self.traced(["sh", "-c", f"{program}; true"], GPUSHIM_NCCL_PROFILER="network", **STEPPED)
        self.assertEqual(self.counts(self.the_trace()), (4, 0, 12))

    def test_of_a_killed_process_it_is_recovered(self):
        """All that was told by the program's own thread; the service thread may have been on its way."""
        program = built("two_ranks", self.folder)
        self.traced([program, "3", "no messages", "killed"], expect=-9, stderr=None,
                    GPUSHIM_NCCL_PROFILER="network", **STEPPED)
        trace = self.the_trace()
        box.run([preload.ANALYZER, "ledger", trace], sim=False)
        self.assertEqual(preload.query(trace, "SELECT seq, count(*) FROM nccl_operation GROUP BY seq"),
                         [(1, 2), (2, 2), (3, 2)])
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM nccl_communicator"), [(2,)])

    def test_in_real_time_all_is_there(self):
        trace = self.run_it(times=20, GPUSIM_CLOCK="real")
        lost = preload.query(trace, "SELECT max(left_out) + max(lost) FROM nccl_source")[0][0]
        self.assertEqual(sum(self.counts(trace)) + lost, 20 * (2 + 4 + 8) + 2 + 4 + 4)
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM nccl_network WHERE dur_ns < 0"), [(0,)])

    # --- another plug-in -----------------------------------------------------------------------------------

    OTHER = "plug-in: 1*4 2*2 4*2 8*12 16*48 256*4 512*2 1024*2\n"  # all bits but 64 wanted

    def refused(self, why, said, **knobs):
        trace = self.run_it(stdout=said, PLUGIN_MASK=2 + 4 + 8 + 16, **knobs)
        self.assertEqual(self.source(trace), (None, why))
        self.assertEqual(self.counts(trace), (0, 0, 0))

    def test_one_that_is_set(self):
        library = plugin(self.folder, "another.so")
        for value in (library, "STATIC_PLUGIN", "none"):
            with self.subTest(value=value):
                said = f"{value}\n" if value != library else f"{self.OTHER}{library}\n"
                self.refused("NCCL_PROFILER_PLUGIN is set", said, NCCL_PROFILER_PLUGIN=value)

    def test_one_that_is_found_by_its_name(self):
        plugin(self.folder)
        path = f"{self.folder}:{box.SIM}"
        self.refused("there is a libnccl-profiler.so", self.OTHER + OURS, LD_LIBRARY_PATH=path)

    def test_one_in_the_program(self):
        built("two_ranks", self.folder, "-rdynamic", "-x", "c", FOLDER / "plugin.c")
        self.refused("the program has a plug-in of its own", self.OTHER + OURS)

    def test_one_that_a_file_of_settings_names(self):
        settings = self.folder / "nccl.conf"
        settings.write_text("# NCCL\nNCCL_DEBUG=WARN\nNCCL_PROFILER_PLUGIN=none\n", encoding="utf-8")
        self.refused("NCCL's file of settings names NCCL_PROFILER_PLUGIN", "none\n", NCCL_CONF_FILE=settings)
        settings.write_text("NCCL_DEBUG=WARN\n#NCCL_PROFILER_PLUGIN=none\n", encoding="utf-8")
        self.assertEqual(self.source(self.run_it(NCCL_CONF_FILE=settings)), (5, None))

    def test_a_plug_in_gets_what_it_asks_for(self):
        """The box's NCCL, as it is without us."""
        program, library = built("two_ranks", self.folder), plugin(self.folder, "another.so")
        for mask, said in ((0, "plug-in:\n"), (2, "plug-in: 1*4 2*2 4*2 256*4 512*2 1024*2\n"),
                           (64, "plug-in: 1*4 2*2 4*2 64*8 256*4 512*2 1024*2\n")):
            done = box.run([program], {**STEPPED, "PLUGIN_MASK": mask, "NCCL_PROFILER_PLUGIN": library})
            self.assertEqual(done.stdout, f"{said}{library}\n")

    # --- the real one --------------------------------------------------------------------------------------

    @unittest.skipUnless(real_nccl(), optional.lacks("libnccl"))
    def test_the_real_nccl_takes_us(self):
        """It finds us, calls us as we understand it, and takes our mask; and does not, where we keep out."""
        program = preload.compiled((FOLDER / "real.c").read_text(encoding="utf-8"), self.folder / "real")
        for wanted, mask, value, expected in (("network", 30, None, (5, None)), ("all", 94, None, (5, None)),
                                              ("all", 0, "none", (None, "NCCL_PROFILER_PLUGIN is set"))):
            with self.subTest(wanted=wanted, value=value):
                for trace in self.traces():
                    trace.unlink()
                set_by_user = {} if value is None else {"NCCL_PROFILER_PLUGIN": value}
                done = self.traced([program, *real_nccl()], GPUSHIM_NCCL_PROFILER=wanted, **set_by_user)
                self.assertEqual(done.stdout, f"0 {mask} 0\n")
                self.assertEqual(self.source(self.the_trace()), expected)
                self.assertEqual(preload.query(self.the_trace(), "SELECT count(*) FROM nccl_communicator"),
                                 [(0 if value else 1,)])

    @unittest.skipUnless(real_nccl(), optional.lacks("libnccl"))
    def test_the_real_nccl_finds_others_as_without_us(self):
        program = preload.compiled((FOLDER / "real.c").read_text(encoding="utf-8"), self.folder / "real")
        plugin(self.folder)
        self.traced([program, *real_nccl()], GPUSHIM_NCCL_PROFILER="all",
                    LD_LIBRARY_PATH=f"{self.folder}:{box.SIM}")
        self.assertEqual(self.source(self.the_trace()), (None, "there is a libnccl-profiler.so"))
