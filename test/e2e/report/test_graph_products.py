"""Matrix products that were captured into CUDA graphs: each launch of a graph does them once, so a step comes
to the same operations as when the program makes the calls itself. By hand, on the stepped clock."""
import re

import preload
import test_products
import told_graph_programs

ASKED = sum(flops for flops, _, _ in test_products.BY_HAND.values())
SMALL = 2 * 64 * 32 * 16  # one more product, by a kernel that products() has, too
STEPS = 60
BEFORE = r"""
static CUgraphExec exec, other_exec;
static CUgraph graph, other;
static CUgraphNode node;
static void small(void) {
    MUST(cublasSgemm_v2(handle, 0, 0, 64, 32, 16, 0, 0, 64, 0, 16, 0, 0, 64));
}
static void begin(void) { MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED)); }
static CUgraph end(void) {
    CUgraph made;
    MUST(cuStreamEndCapture(stream, &made));
    return made;
}
static CUgraphExec instance(CUgraph of) {
    CUgraphExec made;
    MUST(cuGraphInstantiateWithFlags(&made, of, 0));
    return made;
}
static CUgraph captured_products(void) { begin(); products(); return end(); }
static CUgraph captured_small(void) { begin(); small(); return end(); }
static CUgraphNode add_child(CUgraph to, CUgraph child) {
    CUgraphNode made;
    MUST(cuGraphAddChildGraphNode(&made, to, 0, 0, child));
    return made;
}
static CUDA_KERNEL_NODE_PARAMS one_block(const char* name) {
    CUDA_KERNEL_NODE_PARAMS node = {.func = kernel_of(name), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
                                    .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
    return node;
}
static CUgraphNode node_of(CUgraph of, size_t which) {
    CUgraphNode all[16];
    size_t count = 16;
    MUST(cuGraphGetNodes(of, all, &count));
    return all[which];
}
static void update(CUgraphExec of, CUgraph to) {
    CUgraphExecUpdateResultInfo info;
    MUST(cuGraphExecUpdate(of, to, &info));
}
"""
LOOP = r"""
    for (int i = 0; i < 60; ++i) {
        gpushim_step(0, 0);
        STEP
        MUST(cuStreamSynchronize(stream));
        gpusim_advance_ns(100000);
    }
"""
START = "MUST(cublasCreate_v2(&handle)); MUST(cublasSetStream_v2(handle, stream));"
LAUNCH = "MUST(cuGraphLaunch(exec, stream));"


class GraphProducts(test_products.Traced):
    def flops_of(self, prepare, step=LAUNCH):
        """Operations of the products of each step that counts, and how many steps have so many."""
        self.answer(START + prepare + LOOP.replace("STEP", step), before="", more=BEFORE)
        return dict(preload.query(self.folder / "gpushim.run.db",
                                  "SELECT flops, count(*) FROM v_product_step GROUP BY flops ORDER BY flops"))

    def assert_each(self, flops, *program):
        found = self.flops_of(*program)
        self.assertEqual(list(found), [flops])
        self.assertGreater(found[flops], STEPS // 2)
        by_hand = flops / self.steps["mean_ns"] / 1e3
        self.assertAlmostEqual(self.flops["product_tflops_per_gpu"], by_hand, delta=1e-5 * by_hand)
        self.assertEqual(self.flops["product_covered_share"], 1)

    def assert_none(self, why, *program):
        found = self.flops_of(*program)
        self.assertIsNone(self.flops["product_tflops_per_gpu"])
        self.assertIn(why, self.flops["why"])
        self.assertNotIn("FLOPS ", self.report())
        return found

    def test_called_or_captured(self):
        """The same operations in each step, and TFLOP/s by the time of the step."""
        for name, program in {"called": ("", "products();"),
                              "captured": ("exec = instance(captured_products());",),
                              "on a stream that joins": (self.JOINED,),
                              "into a graph that is there": (self.INTO,)}.items():
            with self.subTest(name):
                self.setUp()
                self.assert_each(ASKED, *program)
        text = re.sub(r"\s+", " ", self.report())
        self.assertIn(" FLOPS at least ", text)
        self.assertIn("by recorded products of cuBLAS: 100 % of the time of matrix products and", text)

    JOINED = told_graph_programs.SECOND_STREAM + r"""
        begin();
        MUST(cuEventRecord(fork, stream));
        MUST(cuStreamWaitEvent(second, fork, 0));
        MUST(cublasSetStream_v2(handle, second));
        products();
        MUST(cuEventRecord(join, second));
        MUST(cuStreamWaitEvent(stream, join, 0));
        exec = instance(end());
    """
    INTO = r"""
        MUST(cuGraphCreate(&graph, 0));
        MUST(cuStreamBeginCaptureToGraph(stream, graph, 0, 0, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
        products();
        MUST(cuStreamEndCapture(stream, &other));
        exec = instance(graph);
    """

    def test_each_launch_counts(self):
        self.assert_each(2 * ASKED, "exec = instance(captured_products());", LAUNCH + LAUNCH)

    def test_one_capture_made_executable_twice(self):
        self.assert_each(2 * ASKED, "graph = captured_products(); exec = instance(graph);"
                                    "other_exec = instance(graph); MUST(cuGraphDestroy(graph));",
                         LAUNCH + LAUNCH.replace("exec", "other_exec"))

    def test_a_capture_that_was_thrown_away(self):
        """And one that was broken off, and one that was never launched."""
        self.assert_each(SMALL, r"""
            MUST(cuGraphDestroy(captured_products()));
            instance(captured_products());
            begin();
            products();
            cuStreamSynchronize(stream);
            cuStreamEndCapture(stream, &graph);
            exec = instance(captured_small());
        """)

    def test_a_graph_that_is_captured_and_taken_over_in_each_step(self):
        """As programs do that capture what they do for each token: every other time another size."""
        found = self.flops_of("exec = instance(captured_small());", r"""
            begin();
            if (i % 2)
                small();
            else
                MUST(cublasSgemm_v2(handle, 0, 0, 128, 32, 16, 0, 0, 128, 0, 16, 0, 0, 128));
            graph = end();
            update(exec, graph);
            MUST(cuGraphDestroy(graph));
        """ + LAUNCH)
        self.assertEqual(list(found), [SMALL, 2 * SMALL])
        self.assertLessEqual(abs(found[SMALL] - found[2 * SMALL]), 1)
        self.assertGreater(self.flops["product_tflops_per_gpu"], 0)

    def test_an_update_that_fails_changes_nothing(self):
        self.assert_each(ASKED, r"""
            CUgraphExecUpdateResultInfo info;
            exec = instance(captured_products());
            if (!cuGraphExecUpdate(exec, captured_small(), &info)) exit(1);
        """)

    def test_child_graphs(self):
        self.assert_each(ASKED + SMALL, r"""
            begin();
            small();
            launch("own__5us", stream);
            graph = end();
            add_child(graph, captured_products());
            exec = instance(graph);
        """)

    def test_a_child_graph_that_is_replaced(self):
        found = self.flops_of(r"""
            CUgraph larger;
            MUST(cuGraphCreate(&graph, 0));
            node = add_child(graph, captured_small());
            exec = instance(graph);
            begin();
            MUST(cublasSgemm_v2(handle, 0, 0, 128, 32, 16, 0, 0, 128, 0, 16, 0, 0, 128));
            larger = end();
        """, "if (i == 40) MUST(cuGraphExecChildGraphNodeSetParams(exec, node, larger));" + LAUNCH)
        self.assertEqual(list(found), [SMALL, 2 * SMALL])
        self.assertEqual(found[2 * SMALL], 19)  # from the 41st on; the last step has no end

    def test_a_copy_of_a_graph(self):
        self.assert_each(ASKED, "MUST(cuGraphClone(&other, captured_products())); exec = instance(other);")

    def test_a_graph_that_is_launched_into_a_capture(self):
        self.assert_each(ASKED + 2 * SMALL, r"""
            other_exec = instance(captured_small());
            begin();
            products();
            MUST(cuGraphLaunch(other_exec, stream));
            MUST(cuGraphLaunch(other_exec, stream));
            exec = instance(end());
        """)

    def test_other_parameters_for_a_node_of_a_product(self):
        change = r"""
            CUDA_KERNEL_NODE_PARAMS params = one_block("%s");
            graph = captured_products();
            node = node_of(graph, 0);
            %s
        """
        exec_is_changed = ("exec = instance(graph);"
                           "MUST(cuGraphExecKernelNodeSetParams(exec, node, &params));")
        graph_is_changed = "MUST(cuGraphKernelNodeSetParams(node, &params)); exec = instance(graph);"
        for changed in (exec_is_changed, graph_is_changed):
            with self.subTest(changed):
                self.setUp()
                self.assert_none("given other parameters", change % (test_products.SINGLE, changed))
                self.setUp()
                self.assert_none("does not run all the kernels", change % ("own__5us", changed))

    def test_a_node_of_a_product_that_is_off(self):
        self.assert_none("does not run all the kernels", r"""
            graph = captured_products();
            exec = instance(graph);
            MUST(cuGraphNodeSetEnabled(exec, node_of(graph, 0), 0));
        """)

    def test_beside_matrix_products_that_are_not_recorded(self):
        """Nobody timed the kernels in the graph, so nobody can say which share is recorded."""
        self.assert_none("have no device times to weigh them by", r"""
            begin();
            products();
            launch("ampere_bf16_s16816gemm_bf16_64x64_nn", stream);
            exec = instance(end());
        """)
        self.assertIsNone(self.flops["product_covered_share"])

    def test_a_graph_of_which_nobody_knows_what_it_runs(self):
        """It has more nodes than are looked at."""
        self.assert_none("not recorded what a launched graph runs", r"""
            begin();
            products();
            for (int i = 0; i < 66000; ++i) launch("own__1us", stream);
            exec = instance(end());
            other_exec = instance(captured_products());
        """, "if (i % 30 == 29)" + LAUNCH + LAUNCH.replace("exec", "other_exec"))
