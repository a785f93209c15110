"""gpushim import nsys: what an export of Nsight Systems says, and what an old one lacks."""
import gzip
import contextlib
import sqlite3

import importing
import nsys_made


class Nsys(importing.Import):
    LAUNCHES = ("SELECT kernel, enter_ns, dur_ns, device_start_ns - enter_ns, device_dur_ns, stream, grid_x "
                "* "
                "grid_y, block_x, shared_bytes, group_id FROM v_launch")

    def test_a_new_export_has_it_all(self):
        run = self.imported(nsys_made.program(self.folder / "a.sqlite", nsys_made.NEW), source="nsys")
        epoch = nsys_made.EPOCH_NS
        self.assertEqual(self.rows(self.LAUNCHES), [
            ("void gemm<float>(float*)", epoch + 10_000, 1000, 5000, 9000, "0x7", 8, 128, 64, None),
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", epoch + 12_000, 1000, 13_000, 9000, "0xd", 8, 128,
             64, 1)])
        self.assertEqual(self.rows("SELECT api, kind, source, target, blocking, bytes, device_dur_ns FROM "
                                   "v_copy"),
                         [("cudaMemcpy", "h2d", "pageable", "device", 1, 4096, 6000)])
        self.assertEqual(self.rows("SELECT a.base, a.kind, s.dur_ns, h.handle, s.flags FROM sync s JOIN api "
                                   "a ON "
                                   "a.id = s.api_id LEFT JOIN stream t ON t.id = s.stream_id LEFT JOIN "
                                   "handle h "
                                   "ON h.id = t.handle_id"),
                         [("cudaStreamSynchronize", "sync", 16_000, 13, 0),
                          ("cudaEventQuery", "query", 100, None, 0)])
        self.assertEqual(self.rows("SELECT bytes, kind, flags FROM memory"), [(1 << 20, 4, 0), (None, 4, 2)])
        self.assertEqual(self.rows("SELECT g.dur_ns, d.start_offset_ns, d.dur_ns FROM graph_launch g JOIN "
                                   "graph_launch_device d USING (enter_ns)"), [(2000, 5000, 5000)])
        self.assertEqual(self.rows("SELECT bytes FROM memset"), [(64,)])
        self.assertEqual(self.rows(f"SELECT m.kind, n.text, m.enter_ns - {epoch}, m.dur_ns FROM marker m "
                                   "JOIN "
                                   "name n ON n.id = m.name_id"),
                         [("push", "ProfilerStep#1", 500, None), ("range_start", "apart", 600, None),
                          ("mark", "here", 700, None), ("push", "forward", 900, None),
                          ("pop", "forward", 12_500, 11_600), ("pop", "ProfilerStep#1", 39_000, 38_500),
                          ("range_end", "apart", 41_000, 40_400)])
        self.assertEqual(self.rows("SELECT tid, name FROM thread"), [(4712, "python3")])
        self.assertEqual(self.rows("SELECT host, pid, executable, level FROM rank", run),
                         [("node7", 4711, "train.py", "nsys")])
        self.assertEqual(self.rows("SELECT uuid, name, coverage FROM gpu", run), [("GPU-0", "Made GPU", 1.0)])
        self.assertEqual(self.rows("SELECT unknown FROM v_ledger"), [(0,)])

    def test_calls_alone_are_said_to_be_no_work_and_why(self):
        self.imported(nsys_made.calls_alone(self.folder / "a.sqlite"), source="nsys", expect=3)
        self.assertIn("no work of a GPU in it; Nsight Systems warns: Installed CUDA driver version (13.3) is"
                      " not supported by this build.", self.said)

    def test_what_a_thread_did_between_its_calls(self):
        run = self.imported(nsys_made.waits(self.folder / "a.sqlite"), source="nsys")
        rows = self.rows("SELECT class, running_ns, count(*) FROM host_gap g JOIN thread t"
                         " ON t.id = thread_id WHERE t.tid = 8 AND g.dur_ns = 1000000 GROUP BY 1, 2")
        self.assertLessEqual({("waiting_for_descriptor", 0, 10), ("waiting_for_lock", 0, 10)}, set(rows))
        self.assertEqual(self.rows("SELECT count(*) FROM thread WHERE tid = 9"), [(0,)])
        blocked = dict(self.rows("SELECT blocked_on, sum(ns) FROM gap WHERE cause IN ('host_blocked',"
                                 " 'input_wait') GROUP BY 1", run))
        for what in ("waiting_for_descriptor", "waiting_for_lock"):
            self.assertAlmostEqual(blocked[what], 9.5 * 1_000_000, delta=600_000)
        idle, unknown = self.rows("SELECT sum(ns), sum(CASE cause WHEN 'host_unknown' THEN ns END) FROM gap",
                                  run)[0]
        self.assertLess(unknown or 0, 0.5 * idle)

    def test_what_an_old_export_lacks_is_not_recorded(self):
        run = self.imported(nsys_made.program(self.folder / "rank_3.sqlite", nsys_made.OLD), source="nsys")
        self.assertEqual(self.rows(self.LAUNCHES), [
            ("void gemm<float>(float*)", 10_000, 1000, 5000, 9000, "0x7", None, None, None, None),
            ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 12_000, 1000, 13_000, 9000, "0xd", None, None,
             None, 1)])
        self.assertEqual(self.rows("SELECT kind, source, target, bytes FROM v_copy"),
                         [("h2d", None, None, 4096)])
        self.assertEqual(self.rows("SELECT a.base, s.stream_id FROM sync s JOIN api a ON a.id = s.api_id"),
                         [("cudaStreamSynchronize", None), ("cudaEventQuery", None)])
        self.assertEqual(self.rows("SELECT bytes, flags FROM memory"), [(None, 0), (None, 0)])
        # What the launch of the graph did is not told.
        self.assertEqual(self.rows("SELECT count(*) FROM graph_launch"), [(0,)])
        self.assertEqual(self.rows("SELECT value FROM meta WHERE key = 'calls_without_operation'"), [(2,)])
        self.assertEqual(self.rows("SELECT value FROM meta WHERE key IN ('host', 'started_real_ns')"), [])
        self.assertEqual(self.rows("SELECT rank, world_size FROM rank", run), [(3, None)])

    def test_each_process_is_a_trace(self):
        run = self.imported(nsys_made.program(self.folder / "two.sqlite", nsys_made.NEW, (4711, 4800)),
                            source="nsys")
        self.assertEqual(self.rows("SELECT r.pid, g.uuid FROM rank r JOIN gpu g USING (rank_id) ORDER BY "
                                   "r.pid", run),
                         [(4711, "GPU-0"), (4800, "GPU-1")])
        for number in (0, 1):
            self.assertEqual(self.rows("SELECT count(*) FROM launch", self.trace(number)), [(2,)])

    def test_gpus_beyond_those_that_a_host_has_are_told(self):
        path = nsys_made.program(self.folder / "many.sqlite", nsys_made.NEW)
        with sqlite3.connect(path) as base:
            base.execute("WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 299) "
                         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET "
                         "(start, end, deviceId, streamId, bytes, globalPid) "
                         "SELECT start + i, end + i, i, streamId, 1, globalPid FROM n, "
                         "(SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1)")
        self.imported(path, source="nsys", expect=3)
        self.assertIn("many.sqlite: more GPUs or streams than a host has: of 44 operations it is not known "
                      "which one ran them", self.said)

    IDLE = "SELECT cause, sum(ns) FROM gap GROUP BY 1"

    def test_operators_under_emit_nvtx_are_operators_and_no_ranges(self):
        """Of each 2 ms the GPU computes 200 us; the thread is in operators for 1.2 ms, 15 us of it while the
        kernel is on its way."""
        run = self.imported(nsys_made.operators(self.folder / "a.sqlite"), source="nsys")
        self.assertEqual(self.rows("SELECT DISTINCT name FROM v_range"), [("my own, op_id",)])
        self.assertEqual(self.rows("SELECT operator, pass, kernels FROM operator_kernel", run),
                         [("aten::mm", "forward", 30)])
        idle = dict(self.rows(self.IDLE, run))
        self.assertEqual(idle["host_unknown"], 815_000)  # before the first of them
        self.assertAlmostEqual(idle["framework"], 29 * 985_000, delta=29 * 30_000)
        self.assertAlmostEqual(idle["python"], 29 * 800_000, delta=29 * 30_000)

    def test_operators_of_a_part_of_the_run_do_not_tell_of_the_rest(self):
        run = self.imported(nsys_made.operators(self.folder / "a.sqlite", until=20), source="nsys")
        self.assertEqual(self.rows("SELECT operator, kernels FROM operator_kernel WHERE operator NOTNULL",
                                   run), [("aten::mm", 20)])
        idle = dict(self.rows(self.IDLE, run))
        self.assertNotIn("callback", idle)
        self.assertAlmostEqual(idle["framework"], 20 * 985_000, delta=20 * 30_000)
        self.assertAlmostEqual(idle["host_unknown"], 9 * 1_785_000 + 2 * 815_000, delta=29 * 30_000)

    def test_calls_long_before_the_operators_leave_them_told(self):
        """Of CUDA, and of MPI behind that."""
        file = nsys_made.operators(self.folder / "a.sqlite", allocates_at=1_000)
        base = sqlite3.connect(file)
        base.execute("INSERT INTO MPI_P2P_EVENTS (start, end, globalTid) VALUES (2000000, 3000000, ?)",
                     (nsys_made.global_pid(7) | 8,))
        base.commit()
        base.close()
        run = self.imported(file, source="nsys")
        idle = dict(self.rows(self.IDLE, run))
        self.assertNotIn("callback", idle)
        self.assertAlmostEqual(idle["host_unknown"], 8_800_000, delta=30_000)  # between the three
        self.assertAlmostEqual(idle["python"], 29 * 800_000, delta=29 * 30_000)
        self.assertAlmostEqual(idle["framework"], 29 * 985_000, delta=29 * 30_000)

    def test_calls_of_mpi_are_what_the_host_did(self):
        run = self.imported(nsys_made.messages(self.folder / "a.sqlite"), source="nsys")
        idle = dict(self.rows(self.IDLE, run))
        self.assertAlmostEqual(idle["comm_host"], 29 * 1_000_000 + 14 * 500_000, delta=29 * 5_000)

    def test_what_was_launched_before_the_recording_was_in_the_queue(self):
        """Of a recording that begins late the first kernels have no calls: what the host did is no reason why
        they ran late, and their launches cost nobody knows what."""
        file = nsys_made.operators(self.folder / "a.sqlite", until=0)
        base = sqlite3.connect(file)
        base.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId <= 20")
        base.commit()
        base.close()
        run = self.imported(file, source="nsys")
        idle = dict(self.rows(self.IDLE, run))
        self.assertEqual(idle["device_other"], 19 * 1_800_000)  # before the second to the twentieth
        self.assertEqual(self.rows("SELECT count, api_p50_ns FROM launch_stat", run), [(30, 10_000)])
        self.assertIn("1 x GPU (name not recorded)", self.gpushim("report", self.folder / "run.db").stdout)

    def test_pages_that_move_are_no_steps_and_in_no_queue(self):
        run = self.imported(nsys_made.migrations(self.folder / "a.sqlite"), source="nsys")
        self.assertEqual(self.rows("SELECT DISTINCT kind, source, target FROM v_copy ORDER BY 1"),
                         [("d2h", "managed", "managed"), ("h2d", "managed", "managed")])
        self.assertEqual(self.rows("SELECT steps_source, (SELECT count(*) FROM phase) FROM rank", run),
                         [("none", 0)])
        idle = dict(self.rows(self.IDLE, run))
        self.assertNotIn("device_other", idle)
        self.assertGreater(idle["managed_pages"], 199 * 11_000)  # between one page and the next
        self.assertLess(idle["host_unknown"], 40_000)  # up to the first, and before the kernel
        said = self.gpushim("report", self.folder / "run.db").stdout
        self.assertIn("VERDICT  page faults", said)
        self.assertNotIn("nothing tells what the host", said)
        self.assertIn("h2d 26.2 MB in all, pages of managed memory", said)

    def test_pages_that_the_program_asked_for_are_no_faults(self):
        run = self.imported(nsys_made.migrations(self.folder / "a.sqlite", cause=1), source="nsys")
        self.assertEqual(self.rows("SELECT DISTINCT kind, source, target FROM v_copy ORDER BY 1"),
                         [("d2h", "managed", None), ("h2d", "managed", None)])
        self.assertEqual(self.rows("SELECT steps_source FROM rank", run), [("none",)])
        idle = dict(self.rows(self.IDLE, run))
        self.assertNotIn("managed_pages", idle)
        self.assertNotIn("device_other", idle)
        self.assertNotIn("page_faults", self.gpushim("report", self.folder / "run.db").stdout)

    def test_without_the_sessions_start_nobody_says_when(self):
        run = self.imported(nsys_made.program(self.folder / "a.sqlite", nsys_made.OLD), source="nsys")
        self.assertEqual(self.rows("SELECT started_real_ns FROM rank", run), [(None,)])
        said = self.gpushim("report", self.folder / "run.db").stdout
        self.assertNotIn("1970", said)

    def ranks_of(self, *rows, name="a.sqlite", pids=(4711,)):
        file = nsys_made.with_rows(nsys_made.program(self.folder / name, nsys_made.NEW, pids), *rows)
        run = self.imported(file, source="nsys")
        file.unlink()
        return self.rows("SELECT pid, rank, world_size FROM rank ORDER BY pid", run)

    @staticmethod
    def environment(text):
        return "TARGET_INFO_SYSTEM_ENV", {"name": "DeviceEnvironment", "value": text}

    @staticmethod
    def variable(text):
        return "META_DATA_CAPTURE", {"name": "PROCESS_0:ENVIRONMENT_VARIABLE", "value": text}

    def test_a_rank_is_what_the_launcher_said(self):
        slurm = "SLURM_PROCID=3;SLURM_NTASKS=4"
        for expected, *rows in (
                ((5, 8), self.environment("A=1;OMPI_COMM_WORLD_SIZE=8;OMPI_COMM_WORLD_RANK=5;Z")),
                ((3, 4), self.environment(slurm + ";SLURM_STEP_ID=0")),
                # A batch job's script is not what it runs.
                ((None, None), self.environment(slurm)),
                # Lines of a function, which is some variable's value.
                ((None, None), self.environment("BASH_FUNC_x=() {\n RANK=7;\n RANK=8\n};HOME=/")),
                ((2, 4), self.environment("PMI_RANK=1;RANK=many"), self.variable('RANK="2"'),
                 self.variable('WORLD_SIZE="4"')),
                ((5, None), self.environment("RANK=5;WORLD_SIZE=2"))):
            with self.subTest(rows):
                self.assertEqual(self.ranks_of(*rows), [(4711, *expected)])

    def test_a_launchers_word_comes_before_a_files_name(self):
        self.assertEqual(self.ranks_of(self.environment("RANK=2"), name="rank_3.sqlite"), [(4711, 2, None)])
        self.assertEqual(self.ranks_of(self.environment("HOME=/"), name="rank_3.sqlite"), [(4711, 3, None)])

    def test_of_several_processes_only_mpi_says_ranks(self):
        pids, rank = (4711, 4800), self.environment("RANK=2")
        self.assertEqual(self.ranks_of(rank, pids=pids), [(4711, None, None), (4800, None, None)])
        told = [("MPI_RANKS", {"globalTid": nsys_made.global_pid(pid) | pid, "rank": number})
                for pid, number in ((4711, 1), (4800, 0))]
        self.assertEqual(self.ranks_of(rank, *told, pids=pids), [(4711, 1, None), (4800, 0, None)])

    def test_a_gpu_is_the_one_that_cuda_gave_that_number(self):
        """The machine numbers its GPUs by their places, CUDA otherwise; older exports have both numbers in
        one table."""
        file = nsys_made.program(self.folder / "a.sqlite", nsys_made.NEW)
        base = sqlite3.connect(file)
        base.executescript("ALTER TABLE TARGET_INFO_GPU ADD COLUMN cuDevice INTEGER;"
                           "DROP TABLE TARGET_INFO_CUDA_DEVICE; DELETE FROM TARGET_INFO_GPU;")
        base.executemany("INSERT INTO TARGET_INFO_GPU (id, name, uuid, cuDevice) VALUES (?, ?, ?, ?)",
                         [(0, "Other GPU", "GPU-0", 1), (1, "Made GPU", "GPU-1", 0),
                          (2, "Hidden", "GPU-2", -1)])
        base.commit()
        base.close()
        run = self.imported(file, source="nsys")
        self.assertEqual(self.rows("SELECT device_id, uuid, name FROM gpu", run), [(0, "GPU-1", "Made GPU")])

    def test_operations_without_times_are_told_and_left_out(self):
        changes = {"a column has another name": "ALTER TABLE {} RENAME COLUMN start TO began",
                   "an end that no clock has": "UPDATE {} SET end = 9223372036854775807",
                   "no end": "UPDATE {} SET end = NULL"}
        for number, (what, change) in enumerate(changes.items()):
            with self.subTest(what):
                path = nsys_made.program(self.folder / f"t{number}.sqlite", nsys_made.NEW)
                base = sqlite3.connect(path)
                ((kernels,),) = base.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")
                base.execute(change.format("CUPTI_ACTIVITY_KIND_KERNEL"))
                base.commit()
                base.close()
                run = self.imported(path, source="nsys", expect=3)
                self.assertIn(f"t{number}.sqlite: {kernels} operations have no times that could be read",
                              self.said)
                self.assertEqual(self.rows("SELECT dropped FROM rank", run), [(kernels,)])
                self.assertEqual(self.rows("SELECT count(*) FROM v_launch WHERE device_dur_ns > 0"), [(0,)])

    def test_tables_that_are_missing_are_named(self):
        for number, (tables, words) in enumerate((
                (("CUPTI_ACTIVITY_KIND_RUNTIME",), "has no table CUPTI_ACTIVITY_KIND_RUNTIME"),
                (("CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds"),
                 "has no table CUPTI_ACTIVITY_KIND_RUNTIME and StringIds"))):
            path = nsys_made.program(self.folder / f"m{number}.sqlite", nsys_made.NEW)
            with contextlib.closing(sqlite3.connect(path)) as base:
                for table in tables:
                    base.execute(f"DROP TABLE {table}")
                base.commit()
            done = self.gpushim("import", "nsys", path, "-o", self.folder / f"m{number}.db", expect=3)
            self.assertTrue(done.stderr.rstrip().endswith(words), done.stderr)

    def test_what_is_no_export_is_refused(self):
        sqlite3.connect(self.folder / "none.db").executescript("CREATE TABLE StringIds (id, value)")
        self.assertIn("nsys export", self.gpushim("import", "nsys", self.folder / "none.db", "-o",
                                                  self.folder / "run.db", expect=2).stderr)
        sqlite3.connect(self.folder / "none.db").executescript(
            "CREATE TABLE DIAGNOSTIC_EVENT (severity, text);"
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'CUDA is here'), (3, 'No CUDA events collected.')")
        self.assertIn("Nsight Systems warns: No CUDA events collected.",
                      self.gpushim("import", "nsys", self.folder / "none.db", "-o", self.folder / "run.db",
                                   expect=2).stderr)
        for name, why in (("a.nsys-rep", "not exported yet: nsys export --type sqlite FILE"),
                          ("a.sqlite.gz", "packed by gzip: gunzip it first")):
            (self.folder / name).write_bytes(gzip.compress(b"SQLite" * 100))
            self.assertIn(why, self.gpushim("import", "nsys", self.folder / name, "-o",
                                            self.folder / "run.db", expect=2).stderr)
