"""How fast matrix products of cuBLAS were, by the kernels that computed them: by hand, on the stepped
clock."""
import html
import json
import re

import box
import preload
import stepped_program

BEFORE = r"""
void* handle;
int cublasCreate_v2(void**);
int cublasSetStream_v2(void*, CUstream);
int cublasSgemm_v2(void*, int, int, int m, int n, int k, void*, void*, int, void*, int, void*, void*, int);
int cublasGemmEx(void*, int, int, int m, int n, int k, void*, void*, int, int, void*, int, int, void*, void*,
                 int, int, int, int);
int cublasDgemmBatched(void*, int, int, int m, int n, int k, void*, void*, int, void*, int, void*, void*, int,
                       int batch);
void gpushim_step(const char*, long) __attribute__((weak));
static void products(void) {
    MUST(cublasSgemm_v2(handle, 0, 0, 1024, 512, 256, 0, 0, 1024, 0, 256, 0, 0, 1024));
    MUST(cublasGemmEx(handle, 0, 0, 64, 32, 8192, 0, 0, 2, 64, 0, 2, 8192, 0, 0, 2, 64, 68, -1));
    MUST(cublasDgemmBatched(handle, 0, 0, 128, 128, 128, 0, 0, 128, 0, 128, 0, 0, 128, 10));
}
"""
BODY = r"""
    MUST(cublasCreate_v2(&handle));
    MUST(cublasSetStream_v2(handle, stream));
    for (int i = 0; i < 60; ++i) {
        gpushim_step(0, 0);
        products();
        launch("own__5us", stream);
        launch("own__5us", stream);
        MUST(cuStreamSynchronize(stream));
        gpusim_advance_ns(100000);
    }
"""
CAPTURED = r"""
    CUgraph graph;
    CUgraphExec exec;
    MUST(cublasCreate_v2(&handle));
    MUST(cublasSetStream_v2(handle, stream));
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    products();
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 60; ++i) {
        gpushim_step(0, 0);
        MUST(cuGraphLaunch(exec, stream));
        MUST(cuStreamSynchronize(stream));
        gpusim_advance_ns(100000);
    }
"""
HALF = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"
DOUBLE = "cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1"
SINGLE = "ampere_sgemm_128x64_nn"
# The box's kernels take 10 us, what adds the parts of a divided sum up 2 us.
BY_HAND = {SINGLE: (2 * 1024 * 512 * 256, 10, 4 * (1024 * 256 + 256 * 512 + 1024 * 512)),
           HALF: (2 * 64 * 32 * 8192, 12, 2 * (64 * 8192 + 8192 * 32 + 64 * 32)),
           DOUBLE: (2 * 128 ** 3 * 10, 10, None)}
QUESTION = box.ROOT / "examples/sql/launches_one_by_one.sql"
FIGURES = ("products", "flops", "flops_per_s", "peak_share", "bytes", "bytes_per_s")


class Traced(preload.PreloadCase):
    """What is said of a program that is compiled and traced."""

    def answer(self, body, before="", more="", **knobs):
        source = stepped_program.HEAD + before + BEFORE + more + stepped_program.MAIN.replace("BODY", body)
        program = preload.compiled(source, self.folder / "program", "-l:libgpusim.so", "-l:libcublas.so.12")
        self.traced([program], GPUSHIM_BUDGET="100%", GPUSHIM_DEVICE_TIME="events", **stepped_program.STEPPED,
                    **knobs)
        said = json.loads(self.report("--json"))
        self.flops, self.steps = said["flops"], said["steps"]
        return {kernel["name"]: kernel for kernel in said["kernels"]}

    def report(self, *words):
        done = box.run([preload.ANALYZER, "report", self.the_trace(), *words], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout


class Products(Traced):
    def test_by_hand(self):
        kernels = self.answer(BODY)
        for name, (flops, us, size) in BY_HAND.items():
            with self.subTest(name):
                found = kernels[name]
                products = found["products"]
                self.assertGreater(products, 40)
                self.assertEqual(found["flops"], products * flops)
                self.assertAlmostEqual(found["flops_per_s"], flops / us * 1e6, delta=0.02 * flops / us * 1e6)
                self.assertIsNone(found["peak_share"])
                self.assertIn("a simulated GPU has no peak", found["why"])
                if size is None:
                    self.assertIsNone(found["bytes"])
                    self.assertIn("it is not known which matrices they share", found["why"])
                    continue
                self.assertEqual(found["bytes"], products * size)
                self.assertAlmostEqual(found["bytes_per_s"], size / us * 1e6, delta=0.02 * size / us * 1e6)
        for name in ("own__5us", "splitKreduce_kernel__2us"):
            self.assertEqual([kernels[name][key] for key in FIGURES], [None] * len(FIGURES))
            self.assertIn("it computed no product of cuBLAS that is recorded, with device times",
                          kernels[name]["why"])
        text = self.report()
        self.assertRegex(text, r"by name; a step: mean of all \d+ steps +ran +a step +share +precision"
                               r" +tensor cores +TFLOP/s\n")
        self.assertRegex(text, rf"\n +{SINGLE} .* 2[67]\.\d\n")
        self.assertRegex(text, r"\n +own__5us.* -\n")

    def test_what_a_step_asks_for(self):
        """Over the time of a step: without device times of all, and without what a sample takes."""
        kernels = self.answer(BODY)
        asked = sum(flops for flops, _, _ in BY_HAND.values())
        by_hand = asked / self.steps["mean_ns"] / 1e3
        self.assertAlmostEqual(self.flops["product_tflops_per_gpu"], by_hand, delta=1e-5 * by_hand)
        self.assertEqual(self.flops["product_covered_share"], 1)
        self.assertIsNone(self.flops["product_mfu"])
        self.assertIn("peak", self.flops["why"])
        self.assertLess(kernels[SINGLE]["products"], 60)  # not all are timed
        text = re.sub(r"\s+", " ", self.report())
        self.assertIn(" FLOPS at least ", text)
        self.assertIn("by recorded products of cuBLAS: 100 % of the time of matrix products and", text)

    def test_next_to_products_that_are_not_recorded_they_are_no_measure(self):
        """Four launches of the same kernel for each that cuBLAS made."""
        self.answer(BODY.replace('launch("own__5us", stream);', f'launch("{SINGLE}", stream);'
                                 f'launch("{DOUBLE}", stream);'))
        self.assertIsNone(self.flops["product_tflops_per_gpu"])
        self.assertLess(self.flops["product_covered_share"], 0.6)
        self.assertIn("too few", self.flops["why"])
        self.assertNotIn("FLOPS ", self.report())

    def test_the_page_has_them(self):
        self.answer(BODY)
        self.report("--html", self.folder / "page.html")
        page = html.unescape((self.folder / "page.html").read_text(encoding="utf-8"))
        self.assertIn(">TFLOP/s<", page)
        self.assertTrue(re.search(r">2[67]\.\d<", page))
        self.assertRegex(page, r"<dt>TFLOP/s per GPU, at least</dt><dd[^>]*>[\d.]+</dd><dd[^>]*>in recorded "
                               "products of cuBLAS; MFU not known: a simulated GPU has no peak<")

    def test_launches_one_by_one(self):
        """PyProf's table, of the first step: in the order of the launches, with the range around them."""
        ranged = BODY.replace("products();", 'nvtxRangePushA("forward"); products(); nvtxRangePop();')
        self.answer(ranged, before="#include <nvtx3/nvToolsExt.h>\n")
        rows = preload.query(self.the_trace(), QUESTION.read_text(encoding="utf-8"))
        self.assertEqual([row[0] for row in rows], list(range(1, 361)))
        late = rows[300:306]  # a step with device times
        self.assertEqual([(row[1], round(row[2], -3), row[3], *row[4:]) for row in late], [
            ("forward", 10_000, None, BY_HAND[SINGLE][0], BY_HAND[SINGLE][2], SINGLE),
            ("forward", 10_000, 1, BY_HAND[HALF][0], BY_HAND[HALF][2], HALF),
            ("forward", 2_000, None, None, None, "splitKreduce_kernel__2us"),
            ("forward", 10_000, 1, BY_HAND[DOUBLE][0], None, DOUBLE),
            (None, 5_000, None, None, None, "own__5us"),
            (None, 5_000, None, None, None, "own__5us")])

    def test_captured_ones_are_of_no_kernel(self):
        """When kernels in graphs ran is not known: of the whole step alone (test_graph_products)."""
        kernels = self.answer(CAPTURED)
        self.assertEqual({kernel["flops"] for kernel in kernels.values()}, {None})
        self.assertGreater(self.flops["product_tflops_per_gpu"], 0)

    def test_without_their_calls(self):
        kernels = self.answer(BODY, GPUSHIM_CUBLAS="off")
        self.assertEqual({kernel["flops"] for kernel in kernels.values()}, {None})
        self.assertIn("no product of cuBLAS with device times is recorded", kernels[SINGLE]["why"])
        self.assertNotIn("TFLOP/s", self.report())
