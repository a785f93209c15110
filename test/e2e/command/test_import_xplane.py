"""gpushim import xplane: the run that is made says what a file of TensorFlow's or JAX's profiler says."""
import gzip
import sqlite3

import cli
import importing
import xplane_made

BASE = 1_700_000_000_000_000_000


class Xplane(cli.Case):
    def imported(self, *files, expect=0):
        self.said = self.gpushim("import", "xplane", *files, "-o", self.folder / "run.db", "--keep-traces",
                                 self.folder / "traces", expect=expect).stderr
        return self.opened(self.folder / "run.db")

    def opened(self, path):
        base = sqlite3.connect(path)
        self.addCleanup(base.close)
        return base

    def rows(self, sql, base=None):
        return (base or self.opened(sorted((self.folder / "traces").glob("*.db"))[0])).execute(sql).fetchall()

    def made(self, host, name="made.xplane.pb"):
        return host.write(self.folder / name)

    def test_rows_are_those_of_a_trace_of_ours(self):
        run = self.imported(self.made(xplane_made.program()))
        self.assertEqual(self.said, "")
        at = BASE + 1_000_000
        shape = (8, 2, 128, 64)
        self.assertEqual(self.rows("SELECT api, kernel, dur_ns, device_start_ns, device_dur_ns, stream,"
                                   " grid_x, grid_y, block_x, shared_bytes FROM v_launch"
                                   " ORDER BY device_start_ns LIMIT 3"),
                         [("cuLaunchKernel", "gemm", 2000, at + 70_000, 100_000, "0x11", *shape),
                          ("cuLaunchKernel", xplane_made.COLLECTIVE, 2000, at + 170_000, 50_000, "0x14",
                           *shape),
                          ("(not recorded)", "lost", None, at + 300_000, 10_000, "0x11", *shape)])
        self.assertEqual(self.rows("SELECT api, kind, source, target, blocking, bytes, dur_ns,"
                                   " device_start_ns, device_dur_ns FROM v_copy LIMIT 1"),
                         [("cuMemcpyHtoDAsync", "h2d", "pageable", "device", 0, 4096, 2000, at + 30_000,
                           10_000)])
        self.assertEqual(self.rows("SELECT bytes, device_dur_ns FROM v_memset LIMIT 1"), [(512, 5000)])
        self.assertEqual(self.rows("SELECT count(*), min(dur_ns) FROM sync"), [(4, 100_000)])
        self.assertEqual(self.rows("SELECT count(*) FROM collective"), [(4,)])
        self.assertEqual(self.rows("SELECT name, memory_bytes, multiprocessors FROM device"),
                         [("Made GPU", 1 << 34, 108)])
        self.assertEqual(self.rows("SELECT DISTINCT inside FROM host_span ORDER BY 1"), [(1,), (3,)])
        self.assertEqual(self.rows("SELECT value FROM meta WHERE key = 'source'"), [("xplane",)])
        self.assertEqual(self.rows("SELECT pid FROM process"), [(4711,)])
        self.assertEqual(self.rows("SELECT count(*) FROM step WHERE dur_ns = 900000", run), [(4,)])
        said = self.gpushim("report", self.folder / "run.db").stdout
        self.assertIn("all operations timed by TensorFlow's or JAX's profiler (XPlane)", said)

    def test_steps_that_only_the_device_tells_are_its_steps(self):
        host = xplane_made.program()
        host.threads = xplane_made.Plane("/host:CPU")
        self.imported(self.made(host))
        self.assertEqual(self.rows("SELECT name, start_ns, end_ns, thread_id FROM v_range"
                                   " ORDER BY start_ns LIMIT 1"),
                         [("ProfilerStep#1", BASE + 1_030_000, BASE + 1_310_000, None)])
        self.assertEqual(self.rows("SELECT count(*) FROM v_range"), [(4,)])

    def test_gzip_says_the_same_as_the_file(self):
        plain = self.imported(self.made(xplane_made.program()))
        figures = "SELECT sum(device_dur_ns), sum(dur_ns), count(*) FROM v_launch"
        expected = self.rows(figures)
        self.gpushim("import", "xplane", self.made(xplane_made.program(), "packed.xplane.pb.gz"), "-o",
                     self.folder / "packed.db", "--keep-traces", self.folder / "again")
        packed = self.opened(next((self.folder / "again").glob("*.db")))
        self.assertEqual(self.rows(figures, packed), expected)
        gpus = "SELECT gpu_id, name FROM gpu"
        self.assertEqual(self.rows(gpus, self.opened(self.folder / "packed.db")), self.rows(gpus, plain))

    def test_several_hosts_are_several_ranks(self):
        paths = [self.made(xplane_made.program(f"host{rank}"), f"rank-{rank}.xplane.pb") for rank in (0, 1)]
        run = self.imported(*paths)
        self.assertEqual(self.rows("SELECT rank, host FROM rank ORDER BY rank", run),
                         [(0, "host0"), (1, "host1")])
        self.assertEqual(self.rows("SELECT count(*) FROM gpu", run), [(2,)])

    def test_several_hosts_with_several_gpus_each(self):
        """No file says a rank, and in their containers both processes have the same number."""
        paths = [self.made(xplane_made.several_gpus(f"node{host}", gpus=4), f"node{host}.xplane.pb")
                 for host in (0, 1)]
        run = self.imported(*paths)
        self.assertEqual(self.said, "")
        self.assertEqual(self.rows("SELECT host, pid, rank, count(*) FROM rank r JOIN gpu g USING (rank_id)"
                                   " GROUP BY 1 ORDER BY 1", run),
                         [("node0", 4711, None, 4), ("node1", 4711, None, 4)])
        # 100, 110, 120, 130 us of compute in each of four steps, and 50 us of a collective.
        self.assertEqual(self.rows("SELECT g.device_id, sum(s.compute_ns), sum(s.comm_ns), count(*)"
                                   " FROM v_gpu_step s JOIN gpu g USING (gpu_id) WHERE s.step >= 0"
                                   " GROUP BY s.gpu_id ORDER BY g.gpu_id", run),
                         2 * [(gpu, 4 * (100_000 + 10_000 * gpu), 200_000, 4) for gpu in range(4)])
        said = self.gpushim("report", "--all", self.folder / "run.db").stdout
        for host in (0, 1):
            for gpu in range(3):  # which are shown
                self.assertIn(f"node{host} process 4711 GPU {gpu} ", said)
        # All ranks are there; what is missing is which collective is which.
        self.assertNotIn("not in this run", said)
        self.assertNotIn("Bring in the traces", said)

    PYTHON = (-6289114484373528222, "python3")

    def inside(self):
        return self.rows("SELECT DISTINCT s.inside FROM host_span s JOIN launch l USING (thread_id)"
                         " ORDER BY 1")

    def iterate(self, host):
        """A program that asks for a kernel and waits for it, six times."""
        host.span("$train.py:1 main", 0, 8_000_000, thread=self.PYTHON)
        for at in range(1_000_000, 7_000_000, 1_000_000):
            host.kernel("k", at, at + 5_000, 100_000)
            host.span("PjitFunction(f)", at - 1_000, 10_000, thread=self.PYTHON)
            host.span("$api.py:3105 block_until_ready", at + 20_000, 900_000, thread=self.PYTHON)

    def test_calls_of_a_thread_by_another_number_are_its_calls(self):
        host = xplane_made.Host()
        host.THREAD = (7, "Host Threads/7")
        self.iterate(host)
        run = self.imported(self.made(host))
        self.assertEqual(self.inside(), [(3,), (4,), (6,)])
        self.assertEqual(self.rows("SELECT DISTINCT name FROM thread WHERE id IN"
                                   " (SELECT thread_id FROM launch)"),
                         [("python3",)])
        self.assertEqual(self.rows("SELECT count(*) FROM gap WHERE cause = 'host_unknown'", run), [(0,)])
        self.assertGreater(self.rows("SELECT sum(ns) FROM gap WHERE cause = 'sync'", run)[0][0], 3_000_000)
        # What lies before the first call and after the last is no part of the run.
        self.assertEqual(self.rows("SELECT min(enter_ns) - ?, max(enter_ns + dur_ns) - ? FROM host_span"
                                   .replace("?", str(BASE))), [(1_000_000, 6_002_000)])

    def test_a_thread_of_a_pool_that_is_in_nothing_waits_for_the_program(self):
        host = xplane_made.Host()
        host.THREAD = (99, "py_xla_execute/99")
        self.iterate(host)
        for at in range(1_000_000, 7_000_000, 1_000_000):
            host.span("ExecuteHelper", at - 500, 4_000, thread=host.THREAD)
        run = self.imported(self.made(host))
        self.assertEqual(self.inside(), [(3,), (4,), (6,)])
        other = self.rows("SELECT sum(ns) FROM gap WHERE cause IN ('callback', 'host_unknown')", run)[0][0]
        self.assertLess(other, 10_000)  # the first 5 us

    def test_a_gpu_of_which_only_the_vendor_is_told(self):
        host = xplane_made.Host()
        host.kernel("k", 1_000, 10_000, 10_000)
        host.gpus[0].own = [host.gpus[0].stat("device_vendor", "AMD")]
        run = self.imported(self.made(host))
        self.assertEqual(self.rows("SELECT name FROM gpu", run), [("AMD GPU",)])

    def test_a_number_in_a_hosts_name_is_no_rank(self):
        run = self.imported(self.made(xplane_made.program(), "gpu-node-013.xplane.pb"))
        self.assertEqual(self.rows("SELECT rank FROM rank", run), [(None,)])

    def test_gpus_of_a_host_stay_apart(self):
        host = xplane_made.Host()
        for gpu in (4, 6):
            for i in range(5):
                host.kernel("k", 1_000 + 50_000 * i, 10_000 + 50_000 * i, (gpu - 3) * 10_000, gpu=gpu)
        host.gpu(7)
        self.imported(self.made(host))
        self.assertEqual(self.rows("SELECT device_id, count(*), sum(device_dur_ns) FROM v_launch GROUP BY 1"),
                         [(4, 5, 50_000), (6, 5, 150_000)])

    def test_gpus_beyond_those_that_a_host_has_are_told(self):
        host = xplane_made.Host()
        for gpu in range(300):
            host.kernel("k", 1_000 + 50_000 * gpu, 10_000 + 50_000 * gpu, 10_000, gpu=gpu)
        self.imported(self.made(host), expect=3)
        self.assertIn("more GPUs or streams than a host has: of 44 operations it is not known which one ran "
                      "them", self.said)

    def test_times_since_the_profile_began_have_no_epoch(self):
        host = xplane_made.program(base=5_000)
        self.imported(self.made(host))
        self.assertEqual(self.rows("SELECT min(device_start_ns) FROM v_launch"), [(1_075_000,)])
        self.assertEqual(self.rows("SELECT value FROM meta WHERE key = 'started_real_ns'"), [])

    def test_graphs_and_ranges_are_what_they_are(self):
        host = xplane_made.Host()
        host.work(0, 17, "CudaGraph:3", 1_000, 10_000, 70_000, "cuGraphLaunch (CudaGraph:3)",
                  cuda_graph_exec_id=3)
        host.work(0, 17, "MemoryAlloc", None, 90_000, 1_000)
        host.kernel("k", 100_000, 110_000, 10_000)
        host.threads.event((1, "Host Threads/4712/NVTX"), "NVTX:epoch", 500, 200_000)
        self.imported(self.made(host))
        self.assertEqual(self.rows("SELECT dur_ns, device_start_ns, device_dur_ns FROM v_graph_launch"),
                         [(2000, BASE + 10_000, 70_000)])
        self.assertEqual(self.rows("SELECT kernel FROM v_launch"), [("k",)])
        self.assertEqual(self.rows("SELECT r.name, r.thread_id = l.thread_id FROM v_range r, v_launch l"),
                         [("epoch", 1)])

    def test_when_the_profile_began_is_the_epoch_of_its_times(self):
        host = xplane_made.program(base=5_000)
        host.began = BASE
        self.imported(self.made(host))
        self.assertEqual(self.rows("SELECT min(device_start_ns) FROM v_launch"), [(BASE + 1_075_000,)])

    def test_unknown_fields_and_counts_are_passed_by(self):
        host = xplane_made.program()
        packed = host.bytes()
        more = xplane_made.field(99, "later") + b"\x51" + bytes(8) + b"\x55" + bytes(4)  # 64 and 32 bits
        count = xplane_made.field(1, 1) + xplane_made.field(5, 3)
        host.gpu(0).lines[(17, "Stream #17(Compute)")].append(count + more)
        (self.folder / "more.xplane.pb").write_bytes(host.bytes() + more)
        self.imported(self.folder / "more.xplane.pb")
        self.assertEqual(self.said, "")
        self.assertEqual(self.rows("SELECT count(*) FROM launch"), [(12,)])
        self.assertLess(len(packed), len(host.bytes()))

    def test_what_breaks_off_counts_up_to_there_and_is_told(self):
        host = xplane_made.program()
        host.gpu(1)
        host.kernel("later", 5_000_000, 5_010_000, 10_000, gpu=1)
        whole = host.bytes()
        cut = self.folder / "cut.xplane.pb"
        cut.write_bytes(whole[:whole.index(b"/device:GPU:1") + 80])
        self.imported(cut, expect=3)
        self.assertIn(f"cut.xplane.pb: breaks off at byte {cut.stat().st_size}", self.said)
        self.assertEqual(self.rows("SELECT count(*) FROM v_launch WHERE device_id = 0"), [(12,)])
        self.assertEqual(self.rows("SELECT count(*) FROM v_launch WHERE device_id = 1"), [(0,)])
        packed = gzip.compress(whole, mtime=0)
        cut = self.folder / "cut.xplane.pb.gz"
        cut.write_bytes(packed[:-100])
        self.gpushim("import", "xplane", cut, "-o", self.folder / "other.db", expect=3)

    def test_events_without_names_or_times_are_told(self):
        host = xplane_made.program()
        stream = host.gpu(0).lines[(17, "Stream #17(Compute)")]
        stream.append(xplane_made.field(1, 12345) + xplane_made.field(2, 7) + xplane_made.field(3, 7))
        stream.append(xplane_made.field(1, 1) + xplane_made.field(2, 7) + xplane_made.field(3, -5))
        stream.append(b"\x0a\x7fbroken")
        self.imported(self.made(host), expect=3)
        self.assertIn("2 events could not be read; 1 events without a name are left out", self.said)
        self.assertEqual(self.rows("SELECT count(*) FROM launch"), [(12,)])

    def test_clocks_that_jump_end_and_do_not_crash(self):
        host = xplane_made.program()
        host.kernel("far", None, (1 << 63) // 1000 - 1_000_000, 10)
        done = self.gpushim("import", "xplane", self.made(host), "-o", self.folder / "run.db", timeout=60)
        self.assertEqual(done.stderr, "")

    def test_what_has_no_gpu_is_one_line(self):
        host = xplane_made.program()
        host.gpus = {}
        tpu = xplane_made.field(1, xplane_made.Plane("/device:TPU:0").text())
        none = "no GPU in it (planes: /host:CPU)"
        for content, why in ((host.bytes(), none), (host.bytes()[:200], none + "; it breaks off at byte 200"),
                             (tpu, "no GPU in it (planes: /device:TPU:0)"), (b"", "empty"),
                             (b"{}", "no XPlane file"), (bytes(range(255, 0, -1)), "no XPlane file")):
            path = self.folder / "none.xplane.pb"
            path.write_bytes(content)
            said = self.gpushim("import", "xplane", path, "-o", self.folder / "none.db", expect=2).stderr
            self.assertIn(why, said)
            self.assertEqual(len(said.splitlines()), 2, said)  # the file; that nothing is left
            self.assertFalse((self.folder / "none.db").exists())

    def test_memory_does_not_grow_with_the_file(self):
        host = xplane_made.program()
        number = xplane_made.field(1, host.threads.number(host.threads.events, "op"))
        spans = [number + xplane_made.field(2, 1000 * i) + xplane_made.field(3, 500) for i in range(1000)]
        host.threads.lines[host.THREAD] += spans * 3000
        path = self.made(host)
        self.assertGreater(path.stat().st_size, 30_000_000)
        self.assertLess(importing.peak_kib("xplane", path, self.folder / "run.db"), 300 * 1024)
