"""`gpushim export chrome --merge`: all ranks in one file, on one clock; and what Perfetto's own page, with
its own parser, says of it."""
import functools
import http.server
import json
import os
import shutil
import threading
import unittest

import browser
import chrome_rules
import exporting
import optional
from pairs import pairs
import preload
import trained

PERFETTO = os.environ.get("GPUSHIM_PERFETTO")
STEPS = 12


class Merged(exporting.Export):
    def trained(self, ranks=2):
        trained.train(self.folder / "t", ranks, steps=STEPS)
        return [self.folder / "t" / f"{rank}.db" for rank in range(ranks)]

    def merged(self, *words, **options):
        return self.exported("--merge", *words, **options)

    @staticmethod
    def kernels(data):
        """{rank: [begin, …]}, by the clock of the file."""
        names = {event["pid"]: event["args"]["name"] for event in data["traceEvents"]
                 if event["ph"] == "M" and event["name"] == "process_name"}
        found = {}
        for event in chrome_rules.events(data, "X", "kernel"):
            rank = names[event["pid"]].split(":")[0]
            begin = data["baseTimeNanoseconds"] + chrome_rules.nanoseconds(event["ts"])
            found.setdefault(rank, []).append(begin)
        return {rank: sorted(begins) for rank, begins in found.items()}


class OneFile(Merged):
    def test_every_kernel_of_every_rank_is_there_when_it_was(self):
        traces = self.trained()
        begins = ("SELECT device_start_ns + real_minus_mono_ns FROM v_launch, v_offset"
                  " WHERE device_start_ns IS NOT NULL AND captured = 0")
        real = {f"rank {rank}": sorted(begin for begin, in preload.query(trace, begins))
                for rank, trace in enumerate(traces)}
        found = self.kernels(self.merged(*traces))
        self.assertEqual(found, real)
        self.assertGreater(len(real["rank 1"]), 100)

    def test_each_rank_stands_under_the_one_before_with_its_own_gpu(self):
        data = self.merged(*self.trained())
        placed = sorted((event["args"]["sort_index"], event["pid"]) for event in data["traceEvents"]
                        if event["ph"] == "M" and event["name"] == "process_sort_index")
        names = {event["pid"]: event["args"]["name"] for event in data["traceEvents"]
                 if event["ph"] == "M" and event["name"] == "process_name"}
        self.assertEqual([names[pid].split(":")[0] for _, pid in placed],
                         ["rank 0", "rank 0", "rank 1", "rank 1"])
        self.assertEqual(data["processes"], 2)
        steps = [event for event in chrome_rules.events(data, "X", "user_annotation")
                 if event["name"] == "ProfilerStep#5"]
        self.assertEqual(len(steps), 2)

    def test_of_two_hosts_the_collectives_tell_the_clocks(self):
        """The second rank's host gets another boot, and a wall clock that is 5 s ahead."""
        traces = self.trained()
        same = self.kernels(self.merged(*traces))
        exporting.change(traces[1], """
            UPDATE meta SET value = 'another' WHERE key IN ('boot_id', 'host');
            UPDATE meta SET value = value + 5000000000 WHERE key = 'started_real_ns';""")
        other = self.kernels(self.merged(*traces, to=self.folder / "two.json"))
        self.assertNotIn("wall clock", self.said.stderr)
        self.assertEqual(other["rank 0"], same["rank 0"])
        off = [abs(a - b) for a, b in pairs(other["rank 1"], same["rank 1"])]
        self.assertLess(max(off), 50_000)

    def test_of_hosts_that_never_met_the_wall_clocks_tell_and_it_says_so(self):
        first = self.traced_workload("healthy")
        second = self.folder / "second.db"
        shutil.copy(first, second)
        exporting.change(second, """
            UPDATE meta SET value = 'another' WHERE key IN ('boot_id', 'host', 'uuid');
            UPDATE meta SET value = value + 1000000 WHERE key = 'started_real_ns';
            UPDATE process SET rank = 1, world_size = 2;""")
        exporting.change(first, "UPDATE process SET rank = 0, world_size = 2;")
        found = self.kernels(self.merged(first, second))
        self.assertIn("another: no collective tells its clock beside the others'", self.said.stderr)
        self.assertEqual({b - a for a, b in pairs(found["rank 0"], found["rank 1"])}, {1_000_000})

    def test_of_a_run_alone_the_kept_steps(self):
        traces = self.trained()
        run = self.folder / "run.db"
        self.gpushim("analyze", *traces, "-o", run)
        data = self.merged(run, to=self.folder / "run.json.gz")
        self.assertEqual(set(self.kernels(data)), {"rank 0", "rank 1"})
        self.assertIn("only the typical and the worst step", data["exported"])

    def test_one_file_has_one_name(self):
        said = self.gpushim("export", "chrome", "--merge", self.folder, "-o", f"{self.folder}/", expect=2)
        self.assertIn("all go into one file", said.stderr)


@unittest.skipUnless(PERFETTO and browser.program(), optional.lacks("perfetto"))
class InPerfetto(Merged):
    """The page of Perfetto, from a server of this machine, reads the file with its own parser."""

    SQL = """SELECT json_object(
      'kernels', (SELECT count(*) FROM slice WHERE category = 'kernel'),
      'calls', (SELECT count(*) FROM slice WHERE category = 'cuda_driver'),
      'arrows', (SELECT count(*) FROM flow),
      'processes', (SELECT json_group_array(name) FROM (SELECT name FROM process WHERE pid > 0 ORDER BY pid)),
      'last_ns', (SELECT max(ts + dur) - min(ts) FROM slice),
      'errors', (SELECT json_group_array(name) FROM stats
                 WHERE severity IN ('error', 'data_loss') AND value > 0)) AS said"""

    def served(self, folder):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    def test_it_reads_all_of_it(self):
        site = self.folder / "site"
        shutil.copytree(PERFETTO, site)
        data = self.merged(*self.trained(), to=self.folder / "site" / "merged.json.gz")
        at = self.served(site)
        with browser.Page(f"{at}/index.html#!/?url={at}/merged.json.gz", 1440, 900) as page:
            page.wait_for("typeof app != 'undefined' && !!app.trace")
            said = json.loads(page.ask_later(f"app.trace.engine.query({json.dumps(self.SQL)})"
                                             ".then(rows => rows.firstRow({said: 'str'}).said)"))
        events = {kind: len(chrome_rules.events(data, "X", kind)) for kind in ("kernel", "cuda_driver")}
        spans = [chrome_rules.span(event) for event in chrome_rules.events(data)]
        self.assertEqual(said["errors"], [])
        self.assertEqual((said["kernels"], said["calls"]), (events["kernel"], events["cuda_driver"]))
        self.assertEqual(said["arrows"], len(chrome_rules.events(data, "s")))
        self.assertEqual([name.split(":")[0] for name in said["processes"]],
                         ["rank 0", "rank 0", "rank 1", "rank 1"])
        self.assertEqual(said["last_ns"], max(end for _, end in spans) - min(start for start, _ in spans))
