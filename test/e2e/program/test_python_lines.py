"""Lines of Python in gaps: of real interpreters, each sample compared with what the program can be in; of
programs that only look like one; while it works, forks, ends, is killed."""
import bisect
import collections
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import types

import box
import optional
from preload import ANALYZER, PreloadCase, compiled, query, variables

SOURCES = pathlib.Path(__file__).parent / "python_lines"
PROGRAM = SOURCES / "program.py"
CLOCKS_NS = 5_000  # calls are timed by another clock than samples
OTHERS = ("3.9", "3.10", "3.12", "3.13", "3.14")

# Who may call whom, by name; the lines are the program's own.
CALLERS = {
    "waits": {"batches"}, "batches": {"__next__"}, "__next__": {"steps"}, "works": {"steps"},
    "deep": {"deep", "steps"}, "steps": {"main", "run"}, "call": {"steps"},
    "must": {"call", "steps", "begin"},
    "begin": {"main"}, "main": {"<module>"}, "__init__": {"steps"}, "<module>": {None},
}
FRAMES = ("SELECT f.id, f.caller_id, c.file, c.function, f.line FROM python_frame f JOIN python_code c"
          " ON c.id = f.code_id")


def interpreter(version):
    """Its path: in the PATH, or below ~/.pyenv; None."""
    paths = [shutil.which(f"python{version}"),
             *sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))]
    return next((str(path) for path in paths if path and says(path) == version), None)


def says(path):
    done = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=False,
                          capture_output=True, text=True)
    return done.stdout.strip()


def library_of(path):
    """The interpreter as a library, if it has one."""
    ask = "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('INSTSONAME'))"
    done = subprocess.run([path, "-c", ask], check=False, capture_output=True, text=True)
    library = pathlib.Path(done.stdout.strip())
    return library if ".so" in library.name and library.exists() else None


def lines_of_functions():
    """{name: lines}"""
    lines = {}

    def add(code):
        lines.setdefault(code.co_name, set()).update(line for *_, line in code.co_lines() if line)
        lines[code.co_name].add(code.co_firstlineno)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                add(constant)

    add(compile(PROGRAM.read_text(encoding="utf-8"), str(PROGRAM), "exec"))
    return lines


LINES = lines_of_functions()


def sampled(trace):
    """[(thread, [(file, function, line), …, the outermost], whether all callers were read)]"""
    frames = {row[0]: row[1:] for row in query(trace, FRAMES)}
    stacks = []
    for thread, frame in query(trace, "SELECT thread_id, frame_id FROM python_sample"):
        stack = []
        while frame:
            caller, file, function, line = frames[frame]
            stack.append((file, function.split(".")[-1], line))
            frame = caller
        stacks.append((thread, stack, frame is None))
    return stacks


class PythonLines(PreloadCase):
    def assert_possible(self, stacks, program=PROGRAM):
        """Each frame is a line of its function, called by who calls it."""
        for _, stack, is_whole in stacks:
            self.assertLessEqual(len(stack), 128)
            callers = [*stack[1:], (None, None, None)]
            for (file, function, line), (_, caller, _) in zip(stack, callers):
                if file != str(program):
                    self.assertTrue(pathlib.Path(file).exists() or file.startswith("<"), stack)
                    continue
                self.assertIn(line, LINES[function], stack)
                if caller is not None or is_whole:
                    self.assertIn(caller, CALLERS[function], stack)

    def python(self, path, *words, **knobs):
        done = self.traced([path, PROGRAM, *words], **{"GPUSHIM_PYTHON": "auto", **knobs})
        self.assertEqual(done.stdout, f"over {words[0]}\n")

    def innermost(self, stacks):
        return {stack[0][1] for _, stack, _ in stacks if stack[0][0] == str(PROGRAM)}

    def check_version(self, version):
        path = interpreter(version)
        self.python(path, "12", "all")
        (trace,) = self.traces()
        stacks = sampled(trace)
        self.assert_possible(stacks)
        self.assertLessEqual({"waits", "works", "deep"}, self.innermost(stacks), stacks)
        self.assertEqual({thread for thread, *_ in stacks}, {1, 2})
        self.assertTrue(any(not is_whole for *_, is_whole in stacks), "no deep stack was cut")
        ((told, refused),) = query(trace, "SELECT DISTINCT version, refused FROM python_source")
        self.assertTrue(told == version or told.startswith(version + "."), told)
        self.assertIsNone(refused)
        # What lies behind a thread's last gap lies in one that has not ended.
        outside = query(trace, "SELECT count(*) FROM python_sample s WHERE enter_ns < (SELECT max(enter_ns)"
                               " FROM host_gap WHERE thread_id = s.thread_id) AND NOT EXISTS (SELECT 1 FROM"
                               " host_gap g WHERE g.thread_id = s.thread_id AND s.enter_ns >= g.enter_ns AND"
                               " s.enter_ns < g.enter_ns + g.dur_ns)")
        self.assertEqual(outside, [(0,)])

    def test_this_machines(self):
        self.check_version("3.%d" % sys.version_info[1])

    def test_layouts_are_those_of_headers(self):
        table = (box.ROOT / "shim/python/layouts.def").read_text()
        rows = set(re.findall(r"^PYTHON\(\d.*$", table, re.MULTILINE))
        compared = 0
        for path in filter(None, map(interpreter, ("3.9", "3.10", "3.11", "3.12"))):
            done = subprocess.run([box.ROOT / "scripts/python-layouts", path], check=False,
                                  capture_output=True, text=True)
            if done.returncode == 0:
                compared += 1
                self.assertIn(done.stdout.strip(), rows, path)
        if compared == 0:
            self.skipTest(optional.lacks("pythons", "with headers"))

    def doings(self, path, what):
        """{what it did: in how many samples}, and in which functions"""
        done = self.traced([path, SOURCES / "doings.py", what], GPUSHIM_PYTHON="auto")
        self.assertEqual(done.stdout, "over\n")
        (trace,) = self.traces()
        seen = collections.Counter(row[0] for row in query(trace, "SELECT doing FROM v_python_sample"))
        functions = {stack[0][1] for _, stack, _ in sampled(trace)}
        trace.unlink()
        return seen, functions

    def check_doings(self, path):
        for what, doing, function in (("lock", "waits for lock", "waits_for_lock"),
                                      ("garbage", "collects garbage", "collects"),
                                      ("neither", "neither", "sleeps"), ("inner", "neither", "inner")):
            seen, functions = self.doings(path, what)
            self.assertIn(function, functions, (path, what))
            # Who waits for the lock asks for it every 5 ms, and may have to wait for a processor for that.
            self.assertGreater(seen[doing], 0.15 * sum(seen.values()), (path, what, seen))
            self.assertEqual(set(seen) - {doing, "neither"}, set(), (path, what, seen))

    def test_doings(self):
        self.check_doings(sys.executable)

    def check_launch_lines(self, path):
        # Calls so long are seen on any machine.
        self.traced([path, SOURCES / "launches.py", "400"], GPUSHIM_PYTHON="auto", GPUSIM_LAUNCH_NS="2000000")
        rows = query(self.the_trace(), "SELECT kernel, file, function, line, samples FROM v_kernel_line")
        source = (SOURCES / "launches.py").read_text().splitlines()
        self.assertEqual({(kernel, function) for kernel, _, function, _, _ in rows},
                         {("first__1us", "launch"), ("second__1us", "again")})
        for kernel, file, _, line, samples in rows:
            self.assertEqual(file, str(SOURCES / "launches.py"))
            self.assertIn("# " + kernel.split("__")[0], source[line - 1])
            self.assertGreater(samples, 3)
        self.assertEqual(sum(row[-1] for row in rows), self.check_launch_samples(self.the_trace()))

    def check_launch_samples(self, trace):
        """Each lies in a launch, or behind it in what we do there: its thread has not called again. On a busy
        machine a thread loses its processor in either. How many lie in one."""
        launches = query(trace, "SELECT enter_ns, enter_ns + dur_ns FROM launch ORDER BY enter_ns")
        begins = [enter_ns for enter_ns, _ in launches]
        waits = [enter_ns for enter_ns, in query(trace, "SELECT enter_ns FROM sync ORDER BY enter_ns")]
        inside = 0
        for at_ns, in query(trace, "SELECT enter_ns FROM python_launch"):
            newest = bisect.bisect_right(begins, at_ns + CLOCKS_NS) - 1
            self.assertGreaterEqual(newest, 0, at_ns)
            before = bisect.bisect_right(waits, at_ns - CLOCKS_NS) - 1
            self.assertTrue(before < 0 or waits[before] < begins[newest], (at_ns, launches[newest]))
            inside += launches[newest][0] <= at_ns <= launches[newest][1]
        self.assertGreater(inside, 0)
        return inside

    def test_launch_lines(self):
        self.check_launch_lines(sys.executable)

    def test_launch_lines_under_load(self):
        self.traced([sys.executable, SOURCES / "launches.py", "4000"], GPUSHIM_PYTHON="auto")
        rows = query(self.the_trace(), "SELECT DISTINCT kernel, function FROM v_kernel_line")
        self.assertLessEqual(set(rows), {("first__1us", "launch"), ("second__1us", "again")})

    def test_report_says_what_the_interpreter_did(self):
        for what, words in (("lock", "waits for its interpreter's lock"),
                            ("garbage", "its interpreter collects garbage")):
            self.traced([sys.executable, SOURCES / "doings.py", what], GPUSHIM_PYTHON="auto",
                        GPUSHIM_BUDGET="100%")
            done = box.run([ANALYZER, "report", "--all", "--json", self.the_trace()], sim=False)
            titles = [finding["title"] for finding in json.loads(done.stdout)["findings"]
                      if finding["id"] == "python_overhead"]
            self.assertTrue(titles, what)
            self.assertRegex(titles[0], rf"while .*{words}(, and up to .* not seen)?; "
                                        rf"by \d+ of \d+ samples in doings.py:\d+ \(")
            self.the_trace().unlink()

    def test_off(self):
        self.python(sys.executable, "5", "all", GPUSHIM_PYTHON="off")
        for table in ("python_sample", "python_frame", "python_code", "python_source"):
            self.assertEqual(query(self.the_trace(), f"SELECT count(*) FROM {table}"), [(0,)], table)

    def test_same_results(self):
        without = box.run([sys.executable, PROGRAM, "4", "end"])
        done = self.traced([sys.executable, PROGRAM, "4", "end"], expect=7, GPUSHIM_PYTHON="auto")
        self.assertEqual((done.stdout, done.stderr), (without.stdout, without.stderr))
        self.assertEqual(without.returncode, 7)
        self.assertGreater(len(sampled(self.the_trace())), 0)

    def test_under_load(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
        try:
            self.python(sys.executable, "10", "all")
        finally:
            for process in busy:
                process.kill()
                process.wait()
        stacks = sampled(self.the_trace())
        self.assertGreater(len(stacks), 0)
        self.assert_possible(stacks)

    def test_child_of_fork(self):
        self.python(sys.executable, "10", "fork")
        self.assertEqual(len(self.traces()), 2)
        for trace in self.traces():
            stacks = sampled(trace)
            self.assertGreater(len(stacks), 0, trace)
            self.assertIn("waits", self.innermost(stacks))
            self.assert_possible(stacks)

    def test_exec(self):
        done = self.traced([sys.executable, PROGRAM, "10", "exec"], GPUSHIM_PYTHON="auto")
        self.assertEqual(done.stdout, "over 10\n")
        self.recover()
        stacks = [stack for trace in self.traces() for stack in sampled(trace)]
        self.assertIn("waits", self.innermost(stacks))
        self.assert_possible(stacks)

    def test_killed_at_any_time(self):
        seen = 0
        for seed in range(6):
            knobs = {**variables(self.folder), "GPUSHIM_PYTHON": "auto"}
            process = subprocess.Popen([sys.executable, PROGRAM, "1000", "all"], env=box.environment(knobs),
                                       stdout=subprocess.DEVNULL)
            time.sleep(1.2 + random.Random(seed).random())
            process.send_signal(signal.SIGKILL)
            process.wait()
            self.recover()
            for trace in self.traces():
                stacks = sampled(trace)
                seen += len(stacks)
                self.assert_possible(stacks)
                self.assertEqual(query(trace, "PRAGMA integrity_check"), [("ok",)])
                trace.unlink()
        self.assertGreater(seen, 0)

    def test_interpreter_that_ends(self):
        paths = [interpreter(version) for version in ("3.11", *OTHERS)]
        library = next(filter(None, map(library_of, filter(None, [*paths, *pyenvs()]))), None)
        if library is None:
            self.skipTest(optional.lacks("pythons", "as a library"))
        program = compiled((SOURCES / "embeds.c").read_text(), self.folder / "embeds")
        done = self.traced([program, library], GPUSHIM_PYTHON="auto",
                           PYTHONHOME=str(library.parent.parent))
        self.assertEqual(done.stdout, "over\n")
        names = {stack[0][1] for _, stack, _ in sampled(self.the_trace())}
        self.assertIn("inside", names)

    def test_report_names_the_line(self):
        self.traced([sys.executable, SOURCES / "copies.py"], GPUSHIM_PYTHON="auto", GPUSHIM_BUDGET="100%")
        done = box.run([ANALYZER, "report", "--all", "--json", self.the_trace()], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        places = {place["function"].split(".")[-1]: place for place in json.loads(done.stdout)["idle_python"]}
        source = (SOURCES / "copies.py").read_text().splitlines()
        for function, word in (("logs", "# logs"), ("__next__", "# loads")):
            self.assertIn(word, source[places[function]["line"] - 1], places)
            self.assertEqual(places[function]["file"], str(SOURCES / "copies.py"))
            self.assertGreater(places[function]["idle_share"], 0.1, places)
            self.assertGreater(places[function]["samples"], 5, places)
            self.assertLessEqual(places[function]["samples"], places[function]["of_samples"])
        self.assertLessEqual(sum(place["idle_share"] for place in places.values()), 1.0001)
        titles = {finding["id"]: finding["title"] for finding in json.loads(done.stdout)["findings"]}
        for finding, function in (("input_bound", "__next__"), ("step_gap", "logs")):
            self.assertRegex(titles[finding], rf"; by \d+ of \d+ samples in copies.py:"
                                              rf"{places[function]['line']} \(.*{function}\)$")
        text = box.run([ANALYZER, "report", "--all", self.the_trace()], sim=False).stdout
        self.assertRegex(text, r"by samples of Python, of idle time: \d+ % copies.py:\d+ \(.*\),"
                               r" \d+ of \d+ samples")
        hidden = box.run([ANALYZER, "report", "--all", "--json", "--redact", self.the_trace()], sim=False)
        self.assertNotIn("copies.py", hidden.stdout)

    def test_report_names_the_stages_of_loading(self):
        self.traced([sys.executable, SOURCES / "copies.py", "in-stages"], GPUSHIM_PYTHON="auto",
                    GPUSHIM_BUDGET="100%")
        done = box.run([ANALYZER, "report", "--all", "--json", self.the_trace()], sim=False)
        report = json.loads(done.stdout)
        shares = {stage["stage"]: stage["idle_input_share"] for stage in report["input_stages"]}
        self.assertGreater(shares["decodes"], shares["collates"], shares)
        self.assertGreater(shares["collates"], 0.1, shares)
        self.assertLessEqual(sum(shares.values()), 1.0001)
        titles = {finding["id"]: finding["title"] for finding in report["findings"]}
        self.assertRegex(titles["input_bound"], r"\(decoding \d+ %, putting samples together \d+ %")

    def test_report_says_nothing_where_nothing_was_seen(self):
        self.traced([sys.executable, SOURCES / "copies.py"], GPUSHIM_PYTHON="off", GPUSHIM_BUDGET="100%")
        done = box.run([ANALYZER, "report", "--all", "--json", self.the_trace()], sim=False)
        report = json.loads(done.stdout)
        self.assertIsNone(report["idle_python"])
        self.assertIn("no lines of Python", report["idle_python_why"])
        self.assertFalse([finding for finding in report["findings"] if "samples in" in finding["title"]])

    def pretender(self, name, *flags, words=(), refused=None, **knobs):
        program = compiled((SOURCES / "interpreter.c").read_text(), self.folder / name, "-rdynamic", *flags)
        done = self.traced([program, *words], expect=3, GPUSHIM_PYTHON="auto", **knobs)
        self.assertEqual(done.stdout, "over\n")
        (trace,) = self.traces()
        done = box.run([ANALYZER, "report", "--json", trace], sim=False)
        why = json.loads(done.stdout)["idle_python_why"]
        self.assertEqual(why, refused or "no lines of Python were sampled while GPUs were idle")
        rows = query(trace, "SELECT refused, samples, missing FROM python_source ORDER BY mono_ns DESC"
                            " LIMIT 1")
        self.assertEqual(query(trace, "SELECT count(*) FROM python_sample"), [(0,)])
        trace.unlink()
        if refused:
            self.assertEqual(rows, [(refused, 0, 0)])
        return rows

    def test_unknown_versions(self):
        for number, refused in (("0x036301f0", "Python 3.99.1 is not known"),
                                ("0x030f00f0", "Python 3.15.0 is not known"),
                                ("0x030e00a7", "Python 3.14.0 is not released and not known"),
                                ("0x030e00f0", "Python 3.14.0 does not say where it keeps its frames")):
            self.pretender("unknown", f"-DVERSION={number}", refused=refused)

    def test_free_threaded(self):
        self.pretender("free", "-DVERSION=0x030d01f0", words=["published"],
                       refused="Python 3.13.1 is free-threaded")

    def test_no_interpreter(self):
        self.assertEqual(self.pretender("none"), [])

    def test_lists_without_end(self):
        ((refused, samples, _),) = self.pretender("endless", "-DVERSION=0x030b07f0", words=["threads"])
        self.assertEqual((refused, samples), (None, 0))
        ((_, samples, missing),) = self.pretender("round", "-DVERSION=0x030b07f0", words=["frames"])
        self.assertEqual(samples, 0)
        self.assertGreater(missing, 0)

    def test_memory_that_is_gone(self):
        ((_, samples, missing),) = self.pretender("gone", "-DVERSION=0x030b07f0", words=["gone"])
        self.assertEqual(samples, 0)
        self.assertGreater(missing, 0)


def of_version(version, check):
    def test(self):
        path = interpreter(version)
        if path is None:
            self.skipTest(optional.lacks("pythons", version))
        check(self, version, path)
    return test


for other in OTHERS:
    name = other.replace(".", "_")
    setattr(PythonLines, f"test_version_{name}",
            of_version(other, lambda test, version, path: test.check_version(version)))
    setattr(PythonLines, f"test_doings_{name}",
            of_version(other, lambda test, version, path: test.check_doings(path)))
    setattr(PythonLines, f"test_launch_lines_{name}",
            of_version(other, lambda test, version, path: test.check_launch_lines(path)))


def pyenvs():
    return [str(path) for path in sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3"))
            if re.match(r"3\.(9|1\d)$", says(path))]
