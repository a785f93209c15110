"""A report is as long and as wide as people read at once, from whatever source and of however many ranks. Of
the cases of the gallery test_cases.py checks it, where they are recorded."""
import cli
import fits
import kineto_made
import made_traces
import nsys_made
import trained
import xplane_made

LONG = ("implicit_convolve_sgemm_of_some_length_{}", "sm80_xmma_gemm_f32f32_f32f32_of_length_{}__5x_cublas",
        "bn_bw_1C11_kernel_of_a_new_kind_{}<float>")


class Fits(cli.Case):
    def check(self, source):
        return fits.check(self, self.gpushim("report", source, expect=None).stdout)

    def test_ranks_of_the_box(self):
        for ranks, knobs in ((1, {}), (2, {}), (8, {}), (8, {"GPUSIM_SLOW": "2:1.4"})):
            with self.subTest(ranks=ranks, **knobs):
                folder = self.folder / f"{ranks}{len(knobs)}"
                trained.train(folder, ranks, steps=20, knobs=knobs)
                lines = self.check(folder)
                if knobs:
                    self.assertTrue([line for line in lines if line.startswith("  rank 2 ")], lines)

    def test_traces_of_64_ranks(self):
        made_traces.make_run(self.folder / "run", 64)
        self.check(self.folder / "run")

    def profile(self, rank, ranks):
        """Much of everything: kernels, operators, modules, ranges, collectives, copies, idle time of many
        causes; each rank a little different."""
        trace, pid, tid = kineto_made.Trace(rank, ranks), kineto_made.PID, kineto_made.TID
        for step in range(4):
            start = 1_000_000 + 4_000_000 * step
            trace.step(step, start, 3_900_000)
            for i in range(14):
                at = start + 270_000 * i
                trace.add("python_function", f"nn.Module: LayerOfSomeModel{i}_0", at, 200_000, pid, tid)
                trace.add("user_annotation", f"a part of the step called {i:c}", at, 200_000, pid, tid)
                trace.add("cpu_op", f"aten::convolution_of_some_length_{i}", at + 10_000, 180_000, pid, tid)
                trace.kernel(LONG[i % 3].format(i), at + 20_000, at + 40_000, 50_000 + 1000 * i + 7000 * rank)
            trace.add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                      start + 3_790_000, 100_000, pid, tid)
            for stream, kind in enumerate(("HtoD (Pageable -> Device)", "DtoH (Device -> Pageable)",
                                           "DtoD (Device -> Device)", "HtoD (Pinned -> Device)")):
                at = start + 100_000 * stream
                trace.operation("gpu_memcpy", f"Memcpy {kind}", at, 5000, 20 + stream,
                                trace.call("cudaMemcpyAsync", at - 5000, 3000), bytes=400_000)
            trace.kernel(kineto_made.COLLECTIVE, start + 3_500_000, start + 3_600_000, 150_000, 24,
                         **kineto_made.NCCL_ARGUMENTS | {"Group size": ranks})
        return trace

    def imported(self, source, *files):
        self.gpushim("import", source, *files, "-o", self.folder / "run.db", expect=None)
        return self.check(self.folder / "run.db")

    def test_profiles_of_pytorch(self):
        for ranks, world in ((1, 1), (1, 128), (2, 2), (8, 8), (8, 64)):
            with self.subTest(ranks=ranks, world=world):
                files = [self.profile(rank, world).write(self.folder / f"{rank}.json.gz")
                         for rank in range(ranks)]
                lines = self.imported("kineto", *files)
                self.assertGreater(len(lines), 40, "not enough to shorten: " + "\n".join(lines))

    def test_profiles_that_have_little_in_common(self):
        for ranks in (2, 3, 8):
            with self.subTest(ranks=ranks):
                files = [(self.profile(rank, 128) if rank % 2 else kineto_made.made(rank, 3))
                         .write(self.folder / f"{rank}.json.gz") for rank in range(ranks)]
                self.imported("kineto", *files)

    def test_random_profiles(self):
        for seed in range(8):
            with self.subTest(seed=seed):
                self.imported("kineto", kineto_made.made(seed, 1 + seed).write(self.folder / "t.json.gz"))

    def test_exports_of_nsight_systems(self):
        for name, make in (("waits", nsys_made.waits), ("pages", nsys_made.migrations),
                           ("operators", nsys_made.operators)):
            with self.subTest(name):
                make(self.folder / f"{name}.sqlite")
                self.imported("nsys", self.folder / f"{name}.sqlite")

    def test_xplanes(self):
        for gpus in (1, 2, 8):
            with self.subTest(gpus=gpus):
                host = xplane_made.several_gpus("made", gpus)
                self.imported("xplane", host.write(self.folder / f"{gpus}.xplane.pb"))
