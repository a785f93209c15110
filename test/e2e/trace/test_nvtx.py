"""Ranges and marks of NVTX: programs that use NVTX's own headers, and what the traces say of them."""
import collections
import json
import os
import pathlib
import shutil
import subprocess

import box
import preload

SOURCES = pathlib.Path(__file__).parent / "nvtx"
STEPPED = {"GPUSIM_CLOCK": "stepped"}


class NvtxCase(preload.PreloadCase):
    def build(self, source, *options):
        """A program, or where the name says so a library, from nvtx/<source>."""
        compiler = "g++" if source.endswith(".cpp") else "gcc"
        target = self.folder / pathlib.Path(source).stem
        command = [compiler, "-O2", "-Wall", "-D_GNU_SOURCE", *box.include_flags(), SOURCES / source,
                   "-o", target, f"-L{box.SIM}", f"-Wl,-rpath-link,{box.SIM}", *options, "-pthread", "-ldl"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return target

    def ranges(self, way, expect=0, **knobs):
        """What the program prints on its way."""
        return self.traced([self.build("ranges.c", "-lcuda"), way], expect, **{**STEPPED, **knobs}).stdout

    def ask(self, sql):
        return preload.query(self.the_trace(), sql)


class Ranges(NvtxCase):
    def test_every_function(self):
        printed = self.ranges("all")
        self.assertEqual(printed, "push 0\npush 1\npop 1\npop 0\nids differ\n")
        self.assertEqual(self.ask("SELECT name, kind, depth, dur_ns, category, category_name, payload "
                                  "FROM v_range ORDER BY start_ns, end_ns DESC"), [
            ("outer", "thread", 0, 1600, None, None, None),
            ("inner grüß 😀", "thread", 1, 500, None, None, None),
            ("started first", "process", None, 30, None, None, None),
            ("started second", "process", None, 60, None, None, None),
            ("with all", "thread", 0, 5, 7, "seventh", 2.5),
            ("with all", "process", None, 0, 7, "seventh", 2.5)])
        self.assertEqual(self.ask("SELECT kind, name, payload FROM v_marker "
                                  "WHERE kind IN ('mark', 'category')"),
                         [("mark", "begin", None), ("category", "seventh", None), ("mark", "with all", 2.5)])
        self.assert_nothing_lost(self.the_trace())

    def test_payloads(self):
        self.ranges("payloads")
        self.assertEqual(self.ask("SELECT payload FROM v_marker"),
                         [(2.0 ** 40,), (-3.0,), (0.0,), (4e9,), (-5.0,), (0.5,), (None,)])

    def test_domains_and_strings_from_before_the_context(self):
        printed = self.ranges("domains")
        self.assertEqual(printed, "push 1\npush 0\npop 1\npop 0\npop 0\nsame 1\npop 0\n")
        self.assertEqual(self.ask("SELECT domain, name, depth, dur_ns, category_name FROM v_range "
                                  "WHERE kind = 'thread'"),
                         [("early", "registered before", 1, 8, "third"),
                          ("late", "registered after", 0, 8, None)])
        # What began before recording did has an end and no beginning.
        self.assertEqual(self.ask("SELECT domain, value FROM v_marker WHERE kind = 'pop' AND dur_ns IS NULL"),
                         [("early", 0), (None, 0)])
        self.assertEqual(self.ask("SELECT domain, name FROM v_marker WHERE kind = 'mark'"),
                         [("late", "registered after")])
        self.assert_nothing_lost(self.the_trace())

    def test_what_is_not_closed_is_open_and_what_was_not_opened_is_nothing(self):
        self.assertEqual(self.ranges("unbalanced"), "pop -1\npop 0\npop -1\n")
        self.assertEqual(self.ask("SELECT name, depth, dur_ns FROM v_range ORDER BY start_ns, depth"), [
            ("closed", 0, 30), ("left open", 0, None), ("left open inside", 1, None),
            ("never ended", None, None)])
        self.assertEqual(self.ask("SELECT count(*) FROM v_marker WHERE kind = 'pop'"), [(1,)])

    def test_garbage(self):
        self.assertEqual(self.ranges("garbage"), "pop -1\n")
        unknown = "(name not known)"
        rows = self.ask("SELECT kind, domain, name FROM v_marker")
        self.assertEqual(rows[:-1], [
            ("mark", None, None), ("mark", None, None), ("mark", None, None), ("mark", None, None),
            ("mark", None, "of another version"), ("mark", None, None), ("mark", None, unknown),
            ("mark", unknown, unknown), ("category", None, None)])
        self.assertEqual(rows[-1][2], "x" * 1023)

    def test_cxx(self):
        self.traced([self.build("scoped.cpp", "-lcuda", "-std=c++17")], **STEPPED)
        rows = self.ask("SELECT domain, name, kind, depth, payload FROM v_range")
        self.assertEqual(sorted(rows, key=str), sorted([
            (None, "main", "thread", 0, None), ("physics", "solving", "thread", 0, 0.0),
            ("physics", "solving", "thread", 1, 1.0), ("physics", "solving", "thread", 2, 2.0),
            (None, "moved", "process", None, None)], key=str))
        self.assertEqual(self.ask("SELECT domain, name FROM v_marker WHERE kind = 'mark'"),
                         [("physics", "done")])

    def test_python(self):
        library = self.build("library.c", "-shared", "-fPIC")
        self.traced(["python3", SOURCES / "steps.py", library], **STEPPED)
        rows = self.ask("SELECT name, depth FROM v_range ORDER BY end_ns")
        self.assertEqual(rows[:6], [("forward, seq = 0", 1), ("backward, seq = 0", 1), ("ProfilerStep#0", 0),
                                    ("forward, seq = 1", 1), ("backward, seq = 1", 1), ("ProfilerStep#1", 0)])
        self.assertEqual(len(rows), 15)


class Steps(NvtxCase):
    def test_only_the_steps_that_were_asked_for(self):
        self.ranges("steps", GPUSHIM_STEPS="2:2")
        # The steps themselves are always there, or they could not be counted.
        self.assertEqual(self.ask("SELECT name, dur_ns FROM v_range ORDER BY start_ns, end_ns DESC"), [
            ("ProfilerStep#0", 1000), ("ProfilerStep#1", 1000), ("work", 900), ("ProfilerStep#2", 1000)])
        self.assertEqual(self.ask("SELECT name, domain FROM v_marker WHERE kind = 'mark'"), [("1", None)])

    def test_steps_in_our_own_domain(self):
        self.ranges("own_steps", GPUSHIM_STEPS="3:3")
        self.assertEqual(self.ask("SELECT kind, domain, name FROM v_marker "
                                  "WHERE kind IN ('mark', 'range_end')"), [
            ("mark", None, "step"), ("mark", "gpushim", "step"), ("range_end", "gpushim", "step"),
            ("mark", "gpushim", "step"), ("mark", None, "2")])


class Reported(NvtxCase):
    def test_the_report_lists_them_by_time(self):
        self.ranges("all")
        shown = box.run([preload.ANALYZER, "report", "--all", self.the_trace()], sim=False).stdout
        listed = shown[shown.index("RANGES"):].splitlines()[:6]
        self.assertEqual([" ".join(line.split()) for line in listed], [
            "RANGES domain count threads total (host) mean longest",
            "outer 1 1 1.60 us 1.60 us 1.60 us",
            "inner grüß 😀 1 1 500 ns 500 ns 500 ns",
            "started second 1 1 60 ns 60 ns 60 ns",
            "started first 1 1 30 ns 30 ns 30 ns",
            "with all 2 1 5 ns 2.50 ns 5 ns"])
        answer = box.run([preload.ANALYZER, "report", self.the_trace(), "--json"], sim=False).stdout
        self.assertEqual(json.loads(answer)["ranges"][0], {
            "name": "outer", "domain": None, "count": 1, "open": 0, "threads": 1, "sum_ns": 1600,
            "mean_ns": 1600.0, "max_ns": 1600})

    def test_no_ranges_no_section(self):
        self.traced([box.BUILD / "examples" / "linked"], stderr=None)
        shown = box.run([preload.ANALYZER, "report", "--all", self.the_trace()], sim=False).stdout
        self.assertIn("WAITS", shown)
        self.assertNotIn("RANGES", shown)


class ManyRanges(NvtxCase):
    def test_threads(self):
        self.ranges("threads", GPUSIM_CLOCK="real")
        rows = self.ask("SELECT thread_id, name, depth, dur_ns FROM v_range")
        counts = collections.Counter((name, depth) for _, name, depth, _ in rows)
        self.assertEqual(counts, {("piece 0", 0): 4 * 67, ("piece 1", 0): 4 * 67, ("piece 2", 0): 4 * 66,
                                  ("deeper", 1): 800})
        self.assertEqual(len({thread for thread, *_ in rows}), 4)
        self.assertTrue(all(dur_ns is not None for *_, dur_ns in rows))
        self.assert_nothing_lost(self.the_trace())

    def test_a_hundred_thousand(self):
        self.ranges("many", GPUSIM_CLOCK="real")
        terms = preload.ledger(self.the_trace())
        self.assertEqual(terms["unknown"], 0, terms)
        events = self.ask("SELECT count(*) FROM v_marker")[0][0]
        self.assertEqual(events + terms["dropped"], 200000, terms)
        if terms["dropped"] == 0:
            self.assertEqual(self.ask("SELECT count(*), count(dur_ns) FROM v_range"), [(100000, 100000)])

    def test_full_rings_drop_and_count(self):
        program = self.folder / "flood"
        source = (SOURCES / "ranges.c").read_text().replace("if (i % 1000 == 0) usleep(2000);", "")
        source = source.replace('"one of many"', f'"{"long " * 200}"')
        self.traced([preload.compiled(source, program), "many"], stderr=None)
        terms = preload.ledger(self.the_trace())
        self.assertGreater(terms["dropped"], 0)
        self.assertEqual(terms["unknown"], 0, terms)
        self.assertEqual(terms["produced"] - terms["dropped"],
                         self.ask("SELECT count(*) FROM v_all")[0][0], terms)


class Processes(NvtxCase):
    def test_after_a_fork_and_an_exec(self):
        printed = self.ranges("forks")
        self.assertTrue(printed.endswith("child 0 pop 0\n"), printed)
        parents = [trace for trace in self.traces()
                   if ("in the parent",) in preload.query(trace, "SELECT name FROM v_range")]
        self.assertEqual(len(self.traces()), 2)
        self.assertEqual(len(parents), 1)
        for trace in self.traces():
            names = [name for name, in preload.query(trace, "SELECT name FROM v_range ORDER BY start_ns")]
            self.assertEqual(names[0], "in the parent" if trace in parents else "outer")
            self.assertEqual(len(names), 1 if trace in parents else 6)
        self.assertEqual(preload.query(parents[0], "SELECT domain, name FROM v_marker WHERE kind = 'mark'"),
                         [("of the parent", "after the fork")])

    def test_killed(self):
        self.ranges("killed", expect=-9)
        self.recover()
        self.assertEqual(self.ask("SELECT name, dur_ns IS NULL FROM v_range ORDER BY start_ns"),
                         [("ended", 0), ("open when it was killed", 1)])
        terms = preload.ledger(self.the_trace())
        self.assertEqual((terms["unfinished"], terms["unknown"], terms["dropped"]), (0, 0, 0), terms)


class OurOffer(NvtxCase):
    def test_the_variable_is_there_only_with_us(self):
        program = self.build("ranges.c", "-lcuda")
        self.assertEqual(self.traced([program, "nothing"]).stdout, f"{preload.SHIM}\npush 0\n")
        self.assertEqual(self.traced([program, "nothing"], GPUSHIM_DISABLE=1).stdout, "unset\npush -2\n")
        inherited = self.traced([program, "nothing"], GPUSHIM_DISABLE=1, NVTX_INJECTION64_PATH=preload.SHIM)
        self.assertEqual(inherited.stdout, f"{preload.SHIM}\npush -2\n")
        self.assertEqual(self.traces(), [])

    def test_a_tool_of_the_programs_own_stays(self):
        tool = self.build("other_tool.c", "-shared", "-fPIC")
        printed = self.ranges("nothing", NVTX_INJECTION64_PATH=tool)
        self.assertIn("the other tool", printed)
        self.assertEqual(self.ranges("all", NVTX_INJECTION64_PATH=tool).count("push -2"), 2)
        self.assertEqual(self.ask("SELECT count(*) FROM v_marker"), [(0,)])

    def test_a_parents_path_gives_way_to_our_own(self):
        printed = self.ranges("nothing", NVTX_INJECTION64_PATH="/nowhere/libgpushim.so")
        self.assertEqual(printed, f"{preload.SHIM}\npush 0\n")

    def test_without_the_preload_it_is_no_tool(self):
        done = box.run([self.build("ranges.c", "-lcuda"), "nothing"], {"NVTX_INJECTION64_PATH": preload.SHIM})
        self.assertEqual(done.stdout, f"{preload.SHIM}\npush -2\n")

    def environment(self, variables):
        """What a program has that is started with these."""
        done = subprocess.run([shutil.which("env"), "-0"], env=variables, capture_output=True, check=True)
        return sorted(line for line in done.stdout.decode(errors="replace").split("\0") if line)

    def test_the_environment_is_as_it_was_but_for_it(self):
        variables = {**os.environ, "LD_PRELOAD": str(preload.SHIM), "LAST": "one"}
        expected = {**variables, "NVTX_INJECTION64_PATH": str(preload.SHIM)}
        self.assertEqual(self.environment(variables), sorted(map("=".join, expected.items())))

    def test_more_variables_than_we_have_room_for(self):
        variables = {**os.environ, "LD_PRELOAD": str(preload.SHIM), **{f"V{i}": "" for i in range(9000)}}
        self.assertEqual(self.environment(variables), sorted(map("=".join, variables.items())))
