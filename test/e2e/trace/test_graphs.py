"""What graphs ran: launches times contents against the box's truth, which has a line for every node."""
import json

import box
import graph_programs as programs
import preload
import told_graph_programs

# What a graph is asked while it is gone through, and what an error there leaves of (kernels, copies, bytes).
QUESTIONS = {
    "cuGraphGetNodes:1": (None, None, None),
    "cuGraphGetNodes:2": (None, None, None),
    "cuGraphGetNodes:3": (None, None, None),
    "cuGraphNodeGetType:2": (None, None, None),
    "cuGraphKernelNodeGetParams_v2:3": (None, None, None),
    "cuGraphChildGraphNodeGetGraph:1": (None, None, None),
    "cuGraphMemcpyNodeGetParams:2": (4, 2, None),
}
STEPPED = {"GPUSIM_CLOCK": "stepped"}
COPIES = ("h2d", "d2h", "d2d", "p2p", "h2h")


class Graphs(preload.PreloadCase):
    def run_traced(self, body, before="", **knobs):
        """Runs it with and without the shim; returns its trace and what really ran."""
        source = programs.PROGRAM.replace("BODY", body).replace("BEFORE", before)
        return self.run_source(source, **knobs)

    def run_source(self, source, *options, **knobs):
        program = preload.compiled(source, self.folder / "program", *options)
        without = box.run([program], knobs)
        done = self.traced([program], GPUSIM_TRUTH=self.folder / "truth", **knobs)
        self.assertEqual((done.stdout, without.returncode), (without.stdout, 0))
        self.assert_nothing_lost(self.the_trace())
        return self.the_trace(), box.read_truth(self.folder / "truth")

    def check(self, trace, truth):
        kernels = preload.true_launches(self.folder / "truth")
        executed = dict(preload.query(trace, "SELECT kernel, executed FROM v_kernel_executed"))
        self.assertEqual(executed, kernels)
        self.assertEqual(self.copied(trace), (sum(o.op in COPIES for o in truth),
                                              sum(o.bytes for o in truth if o.op in COPIES)))
        memsets = preload.query(trace, """
            SELECT (SELECT count(*) FROM v_memset WHERE captured = 0 AND failed = 0)
                 + (SELECT total(memsets) FROM v_graph_launch WHERE captured = 0 AND failed = 0)""")
        self.assertEqual(memsets, [(sum(o.op == "memset" for o in truth),)])

    @staticmethod
    def copied(trace):
        (copies, size), = preload.query(trace, """
            SELECT sum(copies), sum(bytes) FROM (
              SELECT 1 AS copies, bytes FROM v_copy WHERE captured = 0 AND failed = 0
              UNION ALL SELECT copies, bytes FROM v_graph_launch WHERE captured = 0 AND failed = 0)""")
        return copies, size

    def test_what_ran_is_counted(self):
        for name, body in programs.SCENARIOS.items():
            for knobs in (STEPPED, preload.QUICK):
                with self.subTest(name, **knobs):
                    for trace in self.traces():
                        trace.unlink()
                    trace, truth = self.run_traced(body, **knobs)
                    self.assertTrue(any(o.op == "kernel" for o in truth))
                    self.check(trace, truth)

    def launched(self, trace):
        return preload.query(trace, "SELECT kernels, copies, bytes FROM v_graph_launch ORDER BY enter_ns")

    def test_what_cannot_be_asked_is_not_recorded(self):
        for question, left in QUESTIONS.items():
            with self.subTest(question):
                for trace in self.traces():
                    trace.unlink()
                trace, _ = self.run_traced(programs.ASKED, **STEPPED, GPUSIM_FAIL=f"{question}:999")
                self.assertEqual(self.launched(trace), [left] * 2 + [(4, 2, 300)] * 3)

    def asked(self, body):
        return self.asked_in(*self.run_traced(body, **STEPPED))

    def asked_in(self, trace, truth):
        self.check(trace, truth)
        counts = box.read_counts(self.folder / "truth.counts")
        return {name: counts[name].entered if name in counts else 0
                for name in ("cuGraphNodeGetType", "cuGraphKernelNodeGetParams_v2",
                             "cuGraphMemcpyNodeGetParams", "cuFuncGetName")}

    def test_what_calls_have_said_is_not_asked(self):
        self.assertEqual(set(self.asked(programs.KNOWN).values()), {0})

    def test_where_calls_may_go_past_the_hooks_all_nodes_are_asked_for(self):
        """A function of a version that nobody here knows may change nodes."""
        newer = preload.compiled(told_graph_programs.NEWER_DRIVER, self.folder / "newer.so", "-shared",
                                 "-fPIC")
        source = programs.PROGRAM.replace("BODY", told_graph_programs.PAST_THE_HOOKS + programs.KNOWN)
        program = preload.compiled(source.replace("BEFORE", ""), self.folder / "program")
        self.traced([program], **STEPPED, GPUSIM_TRUTH=self.folder / "truth",
                    LD_PRELOAD=f"{preload.SHIM} {newer}")
        asked = self.asked_in(self.the_trace(), box.read_truth(self.folder / "truth"))
        self.assertEqual(asked, {"cuGraphNodeGetType": 209, "cuGraphKernelNodeGetParams_v2": 202,
                                 "cuGraphMemcpyNodeGetParams": 3, "cuFuncGetName": 0})

    def test_collectives_hide_nothing_that_is_captured_beside_them(self):
        source = programs.PROGRAM
        for made, instead in {
                '#include "one_gpu.h"': '#include "one_gpu.h"\n#include <nccl.h>',
                "open_gpu()": "open_primary()",
                "BODY": told_graph_programs.WITH_COLLECTIVES, "BEFORE": "",
        }.items():
            source = source.replace(made, instead)
        asked = self.asked_in(*self.run_source(source, "-lnccl", **STEPPED, GPUSIM_DEVICES="2"))
        self.assertEqual(set(asked.values()), {0})

    def test_what_other_threads_have_said_one_after_the_other_is_not_asked(self):
        one_by_one = told_graph_programs.BY_OTHER_THREADS.partition("launch(instance(end()), 2);")
        self.assertEqual(set(self.asked("".join(one_by_one[:2])).values()), {0})

    def test_what_calls_have_not_said_is_asked(self):
        """A copy's nodes are new ones; their functions have names already."""
        copied = programs.KNOWN.replace("exec = instance(captured)", "exec = instance(copied(captured))")
        self.assertEqual(self.asked(copied), {"cuGraphNodeGetType": 102, "cuGraphKernelNodeGetParams_v2": 100,
                                              "cuGraphMemcpyNodeGetParams": 1, "cuFuncGetName": 0})

    def test_more_nodes_than_are_gone_through(self):
        trace, _ = self.run_traced(programs.TOO_LARGE, **STEPPED)
        self.assertEqual(self.launched(trace), [(None, None, None)] * 2)

    def test_an_update_for_each_token_is_not_looked_at_each_time(self):
        """Each question costs 0.1 ms here, so that what the shim asks shows in the program's time."""
        knobs = {**STEPPED, "GPUSIM_CALL_NS": 100_000}
        trace, truth = self.run_traced(programs.UPDATED_FOR_EACH_TOKEN, **knobs)
        self.check(trace, truth)
        (assumed,), = preload.query(trace, "SELECT value FROM meta WHERE key = 'graphs_assumed'")
        self.assertGreater(assumed, 150)
        self.assertLess(assumed, 201)
        self.assertIn(f"{assumed} updates of graphs were not examined, to save the program's time: the "
                      "kernels and bytes after them are inferred from before",
                      " ".join(self.report(trace).split()))
        self.assertEqual(json.loads(self.report(trace, "--json"))["graphs"]["updates_inferred"], assumed)
        asked = box.read_counts(self.folder / "truth.counts")["cuGraphNodeGetType"].entered
        # Three nodes of the first graph, then as often as updates were looked at: 25 ms at once at 0.8 ms
        # each, and a hundredth of the rest. The graph of 4,500 nodes was looked at by nobody.
        self.assertLess(asked, 3 * 50)

    def test_an_update_may_hide_which_node_is_off(self):
        trace, _ = self.run_traced(programs.UPDATED_WHILE_DISABLED, **STEPPED)
        self.assertEqual(self.launched(trace), [(None, None, None)] + [(2, 1, 100)] * 2)

    def test_kernels_that_nobody_launches_have_their_names(self):
        body = programs.NEVER_LAUNCHED.replace("(CUfunction)late", "(CUfunction)early")
        trace, truth = self.run_traced(body, before=programs.NEVER_LAUNCHED_BEFORE, **STEPPED)
        self.assertIn("early__9us", [o.name for o in truth])
        self.check(trace, truth)

    def test_the_report_says_what_ran(self):
        trace, truth = self.run_traced(programs.CHILDREN + "run(c);", **STEPPED)
        answer = json.loads(self.report(trace, "--json"))
        self.assertEqual({kernel["name"]: kernel["count"] for kernel in answer["kernels"]},
                         preload.true_launches(self.folder / "truth"))
        kernels = sum(o.op == "kernel" for o in truth)
        self.assertEqual(answer["graphs"], {"launches": 7, "not_recorded": 0, "kernels": kernels - 1,
                                            "updates_inferred": 0})
        self.assertIn(f"7 launches of graphs ran {kernels - 1} kernels\n", self.report(trace))

    def test_the_report_says_what_it_does_not_know(self):
        trace, _ = self.run_traced(programs.ASKED, **STEPPED, GPUSIM_FAIL="cuGraphGetNodes:1:999")
        self.assertIn("5 launches of graphs ran 12 kernels; what 2 of them contained is not recorded",
                      self.report(trace))

    def test_what_was_made_while_nothing_was_asked_for(self):
        """Graphs are captured before the steps that people want to see."""
        trace, _ = self.run_traced(programs.BEFORE_THE_RANGE, **STEPPED, GPUSHIM_CAPTURE="profiler")
        self.assertEqual(self.launched(trace), [(1, 1, 100)] * 2 + [(2, 1, 100)])

    @staticmethod
    def report(trace, *options):
        return box.run([preload.ANALYZER, "report", "--all", trace, *options], sim=False).stdout
