"""What the answers of examples/sql say of a run, against what was put into it and what the box knows."""
import sqlite3
import unittest

import box
import cookbook_run
import recipe

MS = 1_000_000
BOTH = range(recipe.RANKS)
ROW_NS = 3_000  # what our events may move an operation by


def spans(operations):
    """When the device was busy, as a list of [start, end]."""
    merged = []
    for op in sorted(operations, key=lambda op: op.start_ns):
        if merged and op.start_ns <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], op.end_ns)
        else:
            merged.append([op.start_ns, op.end_ns])
    return merged


class Answers(cookbook_run.Case):
    def by(self, column, question, **only):
        """The rows by that column."""
        rows = [row for row in self.ask(question) if all(row[name] == value for name, value in only.items())]
        self.assertEqual(len({row[column] for row in rows}), len(rows), question)
        return {row[column]: row for row in rows}

    def test_kernels(self):
        truth = {}
        for rank in BOTH:
            for op in self.truth(rank):
                if op.op == "kernel":
                    truth.setdefault(op.name, []).append(op.end_ns - op.start_ns)
        top = self.by("name", "top_kernels")
        for name, durations in truth.items():
            if name.startswith("node"):
                self.assertEqual((top[name]["executed"], top[name]["mean_us"]), (len(durations), None))
            elif not name.startswith("nccl"):
                self.assertEqual(top[name]["executed"], len(durations))
                self.assertAlmostEqual(top[name]["sum_ms"] / (sum(durations) / MS), 1, delta=0.001)
        self.assertAlmostEqual(sum(row["share"] for row in top.values()), 1, delta=0.001)
        tiny = self.by("rank", "tiny_kernels")
        self.assertEqual([(tiny[rank]["name"], tiny[rank]["executed"]) for rank in BOTH],
                         [("tiny__2us", recipe.STEPS * recipe.TINY)] * recipe.RANKS)
        alone = self.by("name", "kernels_on_one_rank")
        self.assertEqual({name: row["executed"] for name, row in alone.items()},
                         {"only_here__30us": recipe.STEPS, f"late__{recipe.LATE_US}us": len(recipe.LATE)})
        self.assertEqual({(row["on_ranks"], row["of_ranks"], row["first_rank"]) for row in alone.values()},
                         {(1, 2, 1)})
        grids = self.by("kernel", "kernels_by_grid")
        for layer in range(recipe.LAYERS):
            row = grids[f"layer_{layer}__{recipe.KERNEL_US}us"]
            self.assertEqual((row["blocks"], row["threads_per_block"], row["launches"]),
                             (27 << layer, 256, recipe.STEPS))

    def test_graphs(self):
        graph, = self.ask("graph_launches")
        self.assertEqual((graph["launches"], graph["kernels"], graph["copies"]),
                         (recipe.STEPS, recipe.NODES, 0))
        self.assertAlmostEqual(graph["on_gpu_us"], recipe.NODES * 10, delta=1)
        inside = self.by("kernel", "kernels_in_graphs", launched=0)
        self.assertEqual({name: row["in_graphs"] for name, row in inside.items()},
                         {f"node_{node}__10us": recipe.STEPS * recipe.NODES // 2 for node in range(2)})

    def test_copies(self):
        for rank in BOTH:
            pinned, = [row for row in self.ask("copies") if (row["rank"], row["source"]) == (rank, "pinned")]
            self.assertEqual(pinned["copies"], recipe.STEPS)
            self.assertAlmostEqual(pinned["megabytes"], recipe.STEPS * recipe.PINNED / 1e6)
            self.assertAlmostEqual(pinned["gigabytes_per_s"], 25, delta=0.05)
            pageable = self.by("kind", "pageable_copies", rank=rank)
            self.assertAlmostEqual(pageable["h2d"]["megabytes"], recipe.STEPS * recipe.PAGEABLE / 1e6)
            self.assertAlmostEqual(pageable["h2d"]["share_of_bytes"],
                                   recipe.PAGEABLE / (recipe.PAGEABLE + recipe.PINNED), delta=0.0001)
            self.assertEqual(pageable["d2h"]["share_of_bytes"], 1)
            repeated = [(row["kind"], row["position"], row["bytes_each"], row["steps"])
                        for row in self.ask("repeated_copies") if row["rank"] == rank]
            self.assertEqual(repeated, [("h2d", 0, recipe.PINNED, recipe.STEPS),
                                        ("h2d", 1, recipe.PAGEABLE, recipe.STEPS),
                                        ("d2h", 0, 4, recipe.STEPS)])
            patterns = self.by("pattern", "copies_back_and_forth", rank=rank)
            self.assertEqual(patterns["small_d2h_sync"]["count"], recipe.STEPS)
            waits = self.by("api", "syncs_per_step", rank=rank)
            self.assertEqual((waits["cuStreamSynchronize"]["per_step"],
                              waits["cuStreamSynchronize"]["after_small_d2h"]), (1, recipe.STEPS))

    def test_time(self):
        whole = self.by("rank", "where_time_goes")
        for rank in BOTH:
            shares = [whole[rank][f"{what}_share"] for what in (
                "productive", "waiting_for_peer", "exposed_comm", "memory", "idle")]
            self.assertAlmostEqual(sum(shares), 1, delta=0.0002)
            causes = self.by("cause", "idle_by_cause", rank=rank)
            self.assertAlmostEqual(sum(row["share_of_time"] for row in causes.values()),
                                   whole[rank]["idle_share"], delta=0.0005)
            slow = [row for row in self.ask("slowest_steps") if row["rank"] == rank]
            late = set(range(recipe.SLOW_INPUT_EVERY - 1, recipe.STEPS, recipe.SLOW_INPUT_EVERY))
            self.assertEqual({row["step"] for row in slow[:len(late)]}, late)
            self.assertEqual({row["more_of"] for row in slow[:len(late)]}, {"idle: input_cpu"})
            parts = [row for row in self.ask("steps_per_second") if row["rank"] == rank]
            self.assertEqual([row["tenth"] for row in parts], list(range(1, 11)))
            slowest = min(parts, key=lambda row: row["steps_per_s"])
            self.assertIn(slowest["first_step"], recipe.LATE)

    def test_the_longest_gaps_are_the_slow_inputs(self):
        gaps = self.ask("longest_gaps")
        merged = spans(self.truth())
        idle = sorted((after[0] - before[1] for before, after in zip(merged, merged[1:])), reverse=True)
        for row, truth_ns in zip(gaps, idle[:3]):
            self.assertAlmostEqual(row["idle_us"] * 1000, truth_ns, delta=recipe.NODES * ROW_NS)
            self.assertEqual((row["after_what"], row["before_what"]), ("d2h", "h2d"))
        host = self.ask("host_gaps")[:3]
        self.assertEqual([row["after_step"] for row in host],
                         [number * recipe.SLOW_INPUT_EVERY for number in (1, 2, 3)])
        for row in host:
            self.assertAlmostEqual(row["running_ms"], recipe.SLOW_INPUT_MS, delta=0.01)

    def test_ranks_beside_each_other(self):
        waits = self.by("rank", "who_waits_for_whom")
        self.assertEqual([waits[rank]["last"] for rank in BOTH], [0, recipe.STEPS])
        late_ms = (len(recipe.LATE) * recipe.LATE_US + recipe.STEPS * 30) / 1000
        self.assertAlmostEqual(waits[0]["waited_ms"] / late_ms, 1, delta=0.05)
        self.assertEqual(waits[1]["waited_ms"], 0)
        windows = self.by("first_step", "straggler_by_window")
        worst = max(windows.values(), key=lambda row: row["saved_ms"])
        self.assertEqual((worst["first_step"], worst["last_step"], worst["rank"]),
                         (recipe.LATE.start + 1, recipe.LATE.stop, 1))
        self.assertEqual([(row["rank"], row["value"]) for row in self.ask("environment_differences")],
                         [(rank, recipe.ENVIRONMENT[rank]["OMP_NUM_THREADS"]) for rank in BOTH])
        calls = self.by("rank", "collectives_per_step")
        self.assertEqual([(row["calls_per_step"], row["smallest_bytes"]) for row in calls.values()],
                         [(1, 4 * recipe.FLOATS)] * recipe.RANKS)
        reduced, = self.ask("allreduce_expectation")
        self.assertAlmostEqual(reduced["transfer_us"], 4 * recipe.FLOATS / 200 / 1000 + 10, delta=0.5)

    def test_after_the_warm_up(self):
        loads = self.by("rank", "module_loads")
        self.assertEqual([(row["after_warm_up"], row["first_such_step"]) for row in loads.values()],
                         [(1, recipe.MODULE_AT)] * recipe.RANKS)
        made, = self.ask("allocations_after_warm_up")
        times = recipe.STEPS // recipe.ALLOCATE_EVERY
        self.assertEqual((made["calls"], made["bytes"], made["first_in_step"], made["last_in_step"]),
                         (times, times * recipe.ALLOCATED, recipe.ALLOCATE_EVERY, recipe.STEPS))
        heights = [row["held_mib"] for row in self.ask("memory_high_water") if row["kind"] == "device"]
        self.assertEqual(len(heights), 1 + times)
        for lower, higher in zip(heights, heights[1:]):
            self.assertAlmostEqual(higher - lower, recipe.ALLOCATED / 2 ** 20, delta=0.002)

    def test_everything_is_counted(self):
        counts = box.read_counts(self.run_folder / "truth.1.counts")
        totals = self.by("api", "totals_without_rows")
        thread = self.by("api", "calls_of_the_launching_thread")
        for api in ("cuLaunchKernel", "cuGraphLaunch", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"):
            own = counts[api].entered - counts[api].nested
            self.assertEqual((totals[api]["calls"], thread[api]["calls"]), (own, own), api)
        for row in self.ask("ledger"):
            self.assertEqual((row["recorded"], row["unknown"]), (row["produced"], 0))
        self.assertEqual({row["events"] for row in self.ask("what_was_dropped")}, {0})

    def test_hours(self):
        for rank, row in self.by("rank", "gpu_hours_idle").items():
            truth_ns = sum(end - start for start, end in spans(self.truth(rank)))
            busy_ns = (row["gpu_hours"] - row["idle_gpu_hours"]) * 3.6e12
            self.assertAlmostEqual(busy_ns / truth_ns, 1, delta=0.02)
            self.assertAlmostEqual(row["idle_cost"], row["idle_gpu_hours"] * recipe.PRICE, delta=0.00001)

    def test_another_run(self):
        kernels = self.by("name", "compare_kernels")
        for layer in range(recipe.LAYERS):
            gone = kernels[f"layer_{layer}__{2 * recipe.KERNEL_US}us"]
            new = kernels[f"layer_{layer}__{recipe.KERNEL_US}us"]
            self.assertEqual((gone["base_executed"], gone["new_executed"]), (2 * 40, None))
            self.assertEqual((new["base_executed"], new["new_executed"]), (None, 2 * recipe.STEPS))
        figures = self.by("name", "compare_figures")
        median = figures["step_median_ns"]
        self.assertAlmostEqual(median["change"], median["new"] / median["base"] - 1, delta=0.0001)
        self.assertAlmostEqual((median["base"] - median["new"]) / 1000, recipe.LAYERS * recipe.KERNEL_US,
                               delta=20)


class Gaps(unittest.TestCase):
    def test_streams_that_overlap(self):
        """
        stream 1   aaaa······cc············       a 0-4, c 10-12
        stream 2   ··bbbbb·······dd········       b 2-7, d 14-16
        window     |───────────────────────|      idle: 7-10, b to c; 12-14, c to d
        other GPU  e·f                            e 0-1, f 2-3, no window
        """
        base = sqlite3.connect(":memory:")
        base.executescript("""
            CREATE TABLE v_operation (device_id, kind, name, enter_ns, device_start_ns, device_end_ns);
            CREATE TABLE meta (key, value);
            CREATE TABLE "window" (device_id, enter_ns, dur_ns);
            INSERT INTO meta VALUES ('started_mono_ns', 0);
            INSERT INTO "window" VALUES (0, 0, 24000);
            INSERT INTO v_operation VALUES (0, 'launch', 'a', 0, 0, 4000), (0, 'launch', 'b', 0, 2000, 7000),
              (0, 'launch', 'c', 9000, 10000, 12000), (0, 'copy', NULL, 1000, 14000, 16000),
              (1, 'launch', 'e', 0, 0, 1000), (1, 'launch', 'f', 0, 2000, 3000);""")
        rows = base.execute(cookbook_run.source("longest_gaps")).fetchall()
        base.close()
        self.assertEqual(rows, [(0, 7e-6, 3.0, "b", "c", 1.0), (0, 12e-6, 2.0, "c", "copy", 13.0)])
