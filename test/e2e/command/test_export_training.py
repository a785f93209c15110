"""A training of two ranks as `gpushim export chrome` draws it: whole, by rules, and brought in again."""
import json
import pathlib
import re
import unittest

import box
import chrome_rules
import cli
import in_memory
from exporting import KNOBS, STEPS, rows, without_own_cost


class Trained(unittest.TestCase):
    """Two ranks of the training example."""

    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        knobs = {**KNOBS, "GPUSIM_DEVICES": 2, "GPUSHIM_OUT": cls.folder / "traces" / "%r.db"}
        (cls.folder / "traces").mkdir()
        cls.must(["python3", cli.TRAIN, "--ranks", 2, "--steps", STEPS], knobs)
        cls.traces = [cls.folder / "traces" / f"{rank}.db" for rank in (0, 1)]
        for trace in cls.traces:
            without_own_cost(trace)
        cls.run_file, cls.again = cls.folder / "run.db", cls.folder / "again.db"
        cls.must([cli.GPUSHIM, "analyze", *cls.traces, "-o", cls.run_file])
        said = cls.must([cli.GPUSHIM, "export", "chrome", *cls.traces, "-o", f"{cls.folder}/out/"])
        cls.files = [pathlib.Path(line) for line in said.stdout.splitlines()]
        cls.must([cli.GPUSHIM, "import", "kineto", *cls.files, "-o", cls.again])
        cls.data = [chrome_rules.read(file) for file in cls.files]

    @classmethod
    def must(cls, words, knobs=None):
        done = box.run(words, knobs, sim=knobs is not None)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done

    def both(self, sql):
        first, second = rows(self.run_file, sql), rows(self.again, sql)
        self.assertTrue(first)
        return first, second

    def test_it_is_what_readers_need(self):
        self.assertEqual([file.name for file in self.files],
                         ["rank-0.pt.trace.json.gz", "rank-1.pt.trace.json.gz"])
        for data in self.data:
            self.assertEqual(list(chrome_rules.complaints(data)), [])

    def test_each_rank_says_who_it_is(self):
        for rank, (file, data) in enumerate(zip(self.files, self.data)):
            found = [re.search(r'"rank":\s+(\d+)', line)
                     for line in chrome_rules.read_text(file).splitlines()[:12]]
            self.assertEqual([int(match[1]) for match in found if match], [rank])
            self.assertEqual(data["distributedInfo"], {"backend": "nccl", "rank": rank, "world_size": 2})
            devices = rows(self.traces[rank], "SELECT name, memory_bytes FROM device ORDER BY id")
            self.assertEqual([(device["name"], device["totalGlobalMem"])
                              for device in data["deviceProperties"]], devices)

    def test_steps_and_streams_are_rows(self):
        for trace, data in zip(self.traces, self.data):
            steps = [event for event in chrome_rules.events(data, "X", "user_annotation")
                     if event["name"].startswith("ProfilerStep#")]
            marks = rows(trace, "SELECT count(*) FROM marker WHERE kind = 'step'")[0][0]
            self.assertEqual([step["name"] for step in steps],
                             [f"ProfilerStep#{number}" for number in range(marks - 1)])
            used = {(event["pid"], event["tid"]) for event in chrome_rules.events(data, "X", "kernel")}
            named = {(event["pid"], event["tid"]): event["args"]["name"]
                     for event in chrome_rules.events(data, "M") if event["name"] == "thread_name"}
            for row in used:
                self.assertTrue(named[row].startswith(f"stream {row[1]} ("))

    def test_no_step_reaches_into_the_next_one(self):
        """Of start and length added as floating-point numbers, as TensorBoard's plugin adds them."""
        for data in self.data:
            steps = sorted((event["ts"], event["ts"] + event["dur"])
                           for event in chrome_rules.events(data, "X", "user_annotation")
                           if event["name"].startswith("ProfilerStep#"))
            self.assertGreater(len(steps), 30)
            for (_, end), (begin, _) in zip(steps, steps[1:]):
                self.assertLessEqual(end, begin)
                self.assertLess(begin - end, 0.002)

    def test_every_operation_with_times_is_there_when_it_was(self):
        for trace, data in zip(self.traces, self.data):
            base = data["baseTimeNanoseconds"]
            offset = rows(trace, "SELECT real_minus_mono_ns FROM v_offset")[0][0]
            recorded = rows(trace, "SELECT device_start_ns, device_end_ns FROM v_operation WHERE "
                                   "device_start_ns IS NOT NULL ORDER BY 1, 2")
            there = sorted(chrome_rules.span(event)
                           for event in chrome_rules.events(data, "X", *chrome_rules.OPERATIONS))
            self.assertGreater(len(there), 1000)
            self.assertEqual([(start + base - offset, end + base - offset) for start, end in there], recorded)

    def test_collectives_have_the_profilers_arguments(self):
        for trace, data in zip(self.traces, self.data):
            asked = rows(trace, "SELECT DISTINCT c.count, c.bytes, c.ranks, c.rank FROM v_collective c JOIN "
                                "v_launch l USING (group_id) WHERE c.api = 'ncclAllReduce' AND "
                                "l.device_start_ns IS NOT NULL ORDER BY 1")
            keys = ("In msg nelems", "In msg size", "Group size", "Rank")
            told = {tuple(event["args"][key] for key in keys)
                    for event in chrome_rules.events(data, "X", "kernel")
                    if event["args"].get("Collective name") == "allreduce"}
            self.assertEqual(sorted(told), asked)
            self.assertEqual({event["args"]["dtype"] for event in chrome_rules.events(data, "X", "kernel")
                              if "dtype" in event["args"]}, {"Float"})

    def test_brought_in_again_it_says_the_same(self):
        for held in (self.same_kernels, self.same_shares, self.same_collectives, self.same_steps):
            with self.subTest(held.__name__):
                held()

    def same_kernels(self):
        first, second = self.both("SELECT g.rank_id, k.name, k.precision, k.sum_ns, k.union_ns "
                                  "FROM kernel k JOIN gpu g USING (gpu_id) WHERE k.sum_ns > 0 ORDER BY 1, 2")
        self.assertEqual(first, second)

    def same_shares(self):
        """Busy, by class, and idle by cause, of the steps that count. An export does not say how many
        multiprocessors a GPU has."""
        first, second = self.both("SELECT m.id, m.name, m.value FROM metric m WHERE m.scope = 'gpu' AND "
                                  "m.name LIKE '%_share' AND m.name NOT IN ('run_busy_share', "
                                  "'small_grid_share') ORDER BY 1, 2")
        self.assertEqual([row[:2] for row in first], [row[:2] for row in second])
        for (_, name, value), (_, _, again) in zip(first, second):
            self.assertEqual(value is None, again is None, name)
            self.assertAlmostEqual(value or 0, again or 0, delta=1e-4, msg=name)

    def same_collectives(self):
        first, second = self.both("SELECT op, dtype, bytes, ranks, count, transfer_p50_ns, wait_p50_ns, "
                                  "busbw_bytes_per_s FROM collective_stat WHERE transfer_p50_ns IS NOT NULL "
                                  "ORDER BY 1, 2, 3")
        self.assertEqual([row[:5] for row in first], [row[:5] for row in second])
        for one, again in zip(first, second):  # our events are out of the first: that is rounded
            for figure, other in zip(one[5:], again[5:]):
                self.assertAlmostEqual(figure or 0, other or 0, delta=max(5, 1e-3 * (figure or 0)))

    def same_steps(self):
        """The file has each a nanosecond shorter, but for the last."""
        first, second = self.both("SELECT rank_id, number, dur_ns FROM step WHERE why IS NULL ORDER BY 1, 2")
        last = {(rank, max(number for other, number, _ in first if other == rank)) for rank, _, _ in first}
        self.assertEqual([(rank, number, ns - ((rank, number) not in last)) for rank, number, ns in first],
                         second)

    def test_of_a_run_the_kept_steps_are_drawn_and_it_says_so(self):
        out = self.folder / "kept"
        done = self.must([cli.GPUSHIM, "export", "chrome", self.run_file, "-o", f"{out}/"])
        self.assertRegex(done.stderr, r"of the whole run only step \d+ \(typical\) and step \d+ \(worst\)")
        for rank, whole in enumerate(self.data):
            data = chrome_rules.read(out / f"rank-{rank}.pt.trace.json.gz")
            self.assertEqual(list(chrome_rules.complaints(data)), [])
            self.assertIn("of the whole run only", data["exported"])
            kept = rows(self.run_file, "SELECT s.number, s.begin_ns, s.dur_ns FROM kept_step k JOIN step s "
                                       f"USING (rank_id, step) WHERE rank_id = {rank} ORDER BY 2")
            self.assertEqual(sorted(event["name"] for event in chrome_rules.events(data, "X",
                                                                                   "user_annotation")),
                             sorted(f"ProfilerStep#{number}" for number, _, _ in kept))
            offset = rows(self.traces[rank], "SELECT real_minus_mono_ns FROM v_offset")[0][0]
            spans = [(begin + offset, begin + length + offset) for _, begin, length in kept]
            self.assertEqual(launched(data, spans), launched(whole, spans))
            self.assertGreater(len(launched(data, spans)), 50)

    def test_the_typical_step_is_of_median_length_and_the_worst_the_longest(self):
        for rank in (0, 1):
            lengths = sorted(row[0] for row in rows(
                self.run_file, "SELECT s.dur_ns FROM step s JOIN gpu_step g USING (step) JOIN gpu u USING "
                               f"(gpu_id) WHERE u.rank_id = {rank} AND s.rank_id = {rank} AND warm_up = 0 "
                               "AND left_out = 0"))
            kept = dict(rows(self.run_file, "SELECT k.why, s.dur_ns FROM kept_step k JOIN step s USING "
                                            f"(rank_id, step) WHERE rank_id = {rank}"))
            self.assertEqual(kept, {"typical": lengths[(len(lengths) - 1) // 2], "worst": lengths[-1]})


def launched(data, spans):
    """What was launched in one of the spans: absolute times and names of calls, operations with arguments."""
    base = data["baseTimeNanoseconds"]
    calls = {event["args"]["correlation"]: event for event in chrome_rules.events(data, "X", "cuda_driver")
             if "correlation" in event.get("args", {})}
    found = []
    for event in chrome_rules.events(data, "X", *chrome_rules.OPERATIONS):
        call = calls[event["args"]["correlation"]]
        enter = chrome_rules.nanoseconds(call["ts"]) + base
        if any(begin <= enter < end for begin, end in spans):
            arguments = {key: value for key, value in event["args"].items() if key != "correlation"}
            found.append((enter, chrome_rules.nanoseconds(event["ts"]) + base, event["dur"], event["name"],
                          call["name"], json.dumps(arguments, default=str, sort_keys=True)))
    return sorted(found)
