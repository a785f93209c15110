"""What is said before a run of its settings, and after it: where the traces are, or why there are none."""
import ctypes
import os
import re
import socket
import subprocess
import sys
import unittest

import box
import cli
import optional
import preload

CONTEXT = """
#include <cuda.h>
#include <unistd.h>
int main(int count, char** words) {
    CUcontext context;
    if (count > 1 && chdir(words[1]) != 0) return 9;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0);
}
"""
INIT = "#include <cuda.h>\nint main(void) { return cuInit(0); }\n"
NAMED = r"traces/\d+\.db \([\d.]+ .B\)"
MISSPELT = "gpushim: GPUSHIM_BUGDET is not a variable of gpushim; did you mean GPUSHIM_BUDGET?"


def driver_is_there():
    try:
        return ctypes.CDLL("libcuda.so.1") is not None
    except OSError:
        return False


class Said(cli.Case):
    """A test of what `gpushim run` says of programs run in the test's folder."""

    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"

    def said(self, *command, expect=0, options=("-o", "traces/%p.db"), sim=True, **knobs):
        """The lines on stderr that are ours."""
        done = box.run([cli.GPUSHIM, "run", *options, "--", *command], knobs, sim, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stderr)
        return [line for line in done.stderr.splitlines() if line.startswith("gpushim: ")]

    def the_line(self, *command, **knobs):
        lines = self.said(*command, **knobs)
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def context_program(self):
        return preload.compiled(CONTEXT, self.folder / "context")


class Traces(Said):
    def test_the_traces_and_what_to_type_next(self):
        self.traces.mkdir()
        (self.traces / "1.db").write_text("of another run")
        line = self.the_line("sh", "-c", f"{cli.LINKED} & {cli.LINKED}; wait")
        made = sorted(path.name for path in self.traces.glob("*.db") if path.name != "1.db")
        self.assertEqual(len(made), 2)
        self.assertRegex(line, rf"^gpushim: 2 traces: {NAMED}, {NAMED}; next: \S*gpushim report traces$")
        self.assertEqual(sorted(re.findall(r"(\d+\.db)", line)), made)

    def test_what_is_to_be_typed_works(self):
        line = self.the_line(cli.LINKED)
        words = line.split("next: ")[1].split()
        self.assertEqual(words[1], "report")
        done = subprocess.run(words, cwd=self.folder, env=box.environment(sim=False), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("GPU", done.stdout)

    def test_at_most_five_are_named(self):
        line = self.the_line("sh", "-c", f"for i in 1 2 3 4 5 6 7; do {self.context_program()}; done")
        self.assertRegex(line, r"^gpushim: 7 traces: .* and 2 more; next: ")
        self.assertEqual(len(re.findall(r"\d+\.db", line)), 5)

    def test_a_trace_that_went_elsewhere_is_named(self):
        """The program has a pattern of its own: a look into the folder of ours would not find it."""
        line = self.the_line("sh", "-c", f"mkdir other && cd other && GPUSHIM_OUT=own.db {cli.LINKED}")
        self.assertIn("gpushim: 1 trace: other/own.db (", line)

    def test_the_program_goes_elsewhere(self):
        (self.folder / "other").mkdir()
        line = self.the_line(self.context_program(), "other")
        self.assertRegex(line, r"gpushim: 1 trace: traces/\d+\.db ")

    def test_a_run_in_a_run_is_told_of_once(self):
        line = self.the_line(cli.GPUSHIM, "run", "-o", "inner.db", "--", cli.LINKED)
        self.assertIn("gpushim: 1 trace: inner.db (", line)

    def test_a_killed_program(self):
        script = f"{sys.executable} {cli.TRAIN} --ranks 1 --steps 100000 & child=$!; " \
                 "until ls traces/*.db >/dev/null 2>&1; do sleep 0.02; done; " \
                 "kill -KILL $(cat /proc/$child/task/*/children) $child; wait"
        lines = self.said("sh", "-c", script)
        self.assertRegex(lines[-1], r"^gpushim: 1 trace: traces/\d+\.db ")

    def test_the_programs_output_comes_before_and_ours_is_one_write(self):
        reader, writer = os.pipe2(os.O_DIRECT)  # each write stays a packet
        self.addCleanup(os.close, reader)
        with subprocess.Popen([cli.GPUSHIM, "run", "-o", self.traces / "%p.db", "--", "sh", "-c",
                               f"{cli.LINKED} 2>&1; echo mine >&2; exit 7"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=writer, env=box.environment(),
                              cwd=self.folder) as program:
            os.close(writer)
            packets = list(iter(lambda: os.read(reader, 65536), b""))
            self.assertEqual((program.wait(), packets[0]), (7, b"mine\n"))
        self.assertEqual(len(packets), 2, packets)
        self.assertRegex(packets[1], rb"^gpushim: 1 trace: .*\n$")

    def test_off_says_nothing(self):
        self.assertEqual(self.said(cli.LINKED, GPUSHIM_LOG="off"), [])
        self.assertEqual(self.said("true", options=("--log", "error")), [])


class Nothing(Said):
    def test_the_usual_reasons(self):
        line = self.the_line("true")
        for part in ("gpushim: nothing was traced: no process here made a CUDA context", "no CUDA call",
                     "statically", "LD_PRELOAD", "doctor"):
            self.assertIn(part, line)
        self.assertFalse(self.traces.exists())

    @unittest.skipIf(driver_is_there(), optional.lacks("no_driver"))
    @unittest.skipUnless(cli.GPUSHIM.parent == box.BUILD, optional.lacks("build_tree"))
    def test_where_no_driver_is_the_simulated_box_is_named(self):
        line = self.the_line("true", sim=False)
        self.assertIn("no driver (libcuda.so.1) can be loaded here", line)
        words = re.search(r"`(\S*scripts/with-sim) (\S+) run -- …`", line)
        self.assertTrue((self.folder / words[1]).samefile(box.ROOT / "scripts" / "with-sim"), line)
        self.assertTrue((self.folder / words[2]).samefile(cli.GPUSHIM), line)

    def test_a_static_program(self):
        program = self.folder / "static"
        subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", program], check=True, text=True,
                       input="int main(void) { return 0; }")
        self.assertIn("static is linked statically: no preload reaches it", self.the_line(program))

    def test_a_wrapper_that_drops_the_preload(self):
        wrapper = self.folder / "sudo"
        wrapper.write_text('#!/bin/sh\nexec env -u LD_PRELOAD "$@"\n')
        wrapper.chmod(0o755)
        line = self.the_line(wrapper, cli.LINKED)
        self.assertIn("nothing was traced: sudo starts programs without LD_PRELOAD", line)

    def test_a_rank_that_is_left_out(self):
        line = self.the_line(cli.LINKED, GPUSHIM_RANKS="5-7", RANK=3)
        self.assertEqual(line, "gpushim: nothing was traced: GPUSHIM_RANKS=5-7 leaves out rank 3")

    def test_switched_off(self):
        line = self.the_line(cli.LINKED, options=("--disable",))
        self.assertEqual(line, "gpushim: nothing was traced: GPUSHIM_DISABLE=1 switches the library off")

    def test_a_trace_that_could_not_be_made(self):
        lines = self.said(cli.LINKED, options=("-o", "/proc/nowhere/a.db"))
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("cannot create /proc/nowhere/a.db", lines[0])
        self.assertIn("nothing was traced: 1 process made a CUDA context and could not", lines[1])


class Settings(Said):
    def refused(self, *options, **knobs):
        """Said in one line, before anything is started."""
        done = box.run([cli.GPUSHIM, "run", *options, "--", "touch", self.folder / "ran"], knobs)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertFalse((self.folder / "ran").exists())
        self.assertRegex(done.stderr, "^gpushim: .*; nothing was started\n$")
        return done.stderr

    def test_values_are_refused(self):
        self.assertIn("--budget=5 is not understood (wanted: a share such as 1%)",
                      self.refused("--budget", "5"))
        self.assertIn("GPUSHIM_STEPS=b-a is not understood (wanted: steps such as 20:40)",
                      self.refused(GPUSHIM_STEPS="b-a"))
        both = self.refused("--max-mb", "many", GPUSHIM_DELAY="soon")
        self.assertIn("--max-mb=many is not", both)
        self.assertIn("GPUSHIM_DELAY=soon is not", both)

    def test_outputs_are_refused(self):
        os.mkfifo(self.folder / "fifo")
        self.assertIn("--out=/dev/null is a device (wanted: a file, a folder",
                      self.refused("-o", "/dev/null"))
        self.assertIn("is a FIFO", self.refused(GPUSHIM_OUT=self.folder / "fifo"))
        self.assertIn("%z is not understood", self.refused("-o", "%z"))

    def test_a_misspelt_name_is_told_once(self):
        lines = self.said("sh", "-c", f"{cli.LINKED}; {cli.LINKED}", GPUSHIM_BUGDET="5%", GPUSHIM_NEW="1")
        self.assertEqual(sorted(lines[:2]), [MISSPELT, "gpushim: GPUSHIM_NEW is not a variable of gpushim"])
        self.assertEqual(len(lines), 3, lines)

    def test_what_scripts_and_tests_read_is_known(self):
        """The table has a row for each name that the project's own programs ask the environment for."""
        asked = set()
        pattern = re.compile(r"""(?:getenv\(|environ\.get\(|environ\[|\$\{)"?(GPUSHIM_[A-Z_]+)""")
        files = subprocess.run(["git", "ls-files", "scripts", "test", "examples", ".ci"], cwd=box.ROOT,
                               text=True, stdout=subprocess.PIPE, check=True).stdout.split()
        for file in files:
            asked.update(pattern.findall((box.ROOT / file).read_text(encoding="utf-8", errors="replace")))
        self.assertIn("GPUSHIM_BUILD", asked)
        lines = self.said("true", **{name: "" for name in asked})
        self.assertEqual([line for line in lines if "is not a variable" in line], [])

    def test_doctor_tells_of_both(self):
        done = self.gpushim("doctor", knobs={"GPUSHIM_BUGDET": "5%", "GPUSHIM_BUDGET": "5"}, sim=True)
        self.assertRegex(done.stdout, "LIMITED +settings GPUSHIM_BUGDET is not .*did you mean GPUSHIM_BUDGET")
        self.assertRegex(done.stdout, "LIMITED +settings GPUSHIM_BUDGET=5 is not understood")


class Preloaded(preload.PreloadCase):
    """Without `gpushim run`."""

    def setUp(self):
        super().setUp()
        self.program = preload.compiled(CONTEXT, self.folder / "context")

    def test_the_trace_and_what_to_type_next(self):
        done = self.traced([self.program], stderr=None, GPUSHIM_LOG="info")
        lines = [line for line in done.stderr.splitlines() if "next: " in line]
        trace = self.the_trace()
        self.assertRegex(lines[0], rf"^gpushim: 1 trace: {trace} \([\d.]+ MB\); "
                                   rf"next: gpushim report {trace.parent}/$")
        self.assertEqual(len(lines), 1, done.stderr)

    def test_nothing_was_traced(self):
        program = preload.compiled(INIT, self.folder / "init")
        for command, why in (("true", "it made no CUDA context. Usually it makes no CUDA call, or starts"),
                             (program, "it initialised CUDA and made no context; ")):
            done = self.traced([command], stderr=None, GPUSHIM_LOG="info")
            self.assertRegex(done.stderr, rf"^gpushim: nothing was traced in \w+ \(process \d+\): {why}.*\n$")

    def test_by_default_nothing_is_said(self):
        self.traced([self.program])
        self.traced(["true"], GPUSHIM_BUGDET="5%")
        self.traced(["true"], GPUSHIM_DISABLE="1", GPUSHIM_LOG="info")

    def test_a_rank_that_is_left_out(self):
        self.traced([self.program], stderr="gpushim: rank 3 is not one of GPUSHIM_RANKS; not tracing\n",
                    GPUSHIM_LOG="info", GPUSHIM_RANKS="5-7", RANK=3)

    def test_a_misspelt_name_is_told_with_the_first_context(self):
        self.traced([self.program], GPUSHIM_BUGDET="5%", stderr=f"{MISSPELT}\n")

    def test_a_forked_child_says_nothing(self):
        script = "import os, sys\nif os.fork(): os.wait()\nelse: sys.exit(0)"
        done = self.traced([sys.executable, "-c", script], stderr=None, GPUSHIM_LOG="info")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Output(preload.PreloadCase):
    def setUp(self):
        super().setUp()
        self.program = preload.compiled(CONTEXT, self.folder / "program")

    def test_a_folder_gets_the_default_name(self):
        (self.folder / "traces").mkdir()
        self.traced([self.program], GPUSHIM_OUT=self.folder / "traces", RANK=3)
        self.assertRegex([path.name for path in (self.folder / "traces").iterdir()][0],
                         rf"^gpushim\.{re.escape(os.uname().nodename)}\.3\.\d+\.db$")

    def test_a_relative_name_is_taken_from_the_start(self):
        (self.folder / "other").mkdir()
        self.traced([self.program, "other"], GPUSHIM_OUT="new/a.db")
        self.assertTrue((self.folder / "new" / "a.db").exists())
        self.assertEqual(list((self.folder / "other").iterdir()), [])

    def test_special_files_are_refused_in_one_line(self):
        fifo, listening = self.folder / "fifo", self.folder / "socket"
        os.mkfifo(fifo)
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(listening))
            for path, kind in (("/dev/null", "device"), (fifo, "FIFO"), (listening, "socket")):
                self.traced([self.program], GPUSHIM_OUT=path,
                            stderr=f"gpushim: GPUSHIM_OUT={path} is a {kind}; not tracing\n")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["fifo", "program", "socket"])
        self.assertFalse(os.path.exists("/dev/null.2"))
