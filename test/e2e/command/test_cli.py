"""gpushim's words: what is understood, running programs, installing."""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import uuid

import box
import cli
import optional


class Help(cli.Case):
    def test_the_words_people_type_come_first(self):
        listed = self.gpushim("--help").stdout
        places = [listed.index(f"gpushim {name}") for name in ("run", "report", "sql")]
        self.assertEqual(places, sorted(places))
        self.assertIn("more: analyze, doctor", listed)

    def test_each_command_tells_its_options(self):
        self.assertIn("--max-mb N", self.gpushim("run", "--help").stdout)
        self.assertIn("--csv", self.gpushim("sql", "--help").stdout)

    def test_what_is_not_understood(self):
        for words, said in ((["trace"], "no command 'trace'"), (["sql", "--xml", "a"], "no option --xml"),
                            (["run", "--max-mb"], "--max-mb needs a value"), (["sql"], "which file?"),
                            (["run", "true"], "gpushim run [options] -- true")):
            with self.subTest(words):
                done = self.gpushim(*words, expect=2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")


class Run(cli.Case):
    def test_exit_code_input_and_output_are_the_programs(self):
        done = subprocess.run([cli.GPUSHIM, "run", "--", "sh", "-c", "cat; echo problem >&2; exit 7"],
                              env=box.environment(sim=False), input="text", text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (7, "text"))
        self.assertRegex(done.stderr, "^problem\ngpushim: nothing was traced: .*\n$")

    def test_a_signal_ends_both(self):
        self.assertEqual(self.run_code("kill -SEGV $$"), -signal.SIGSEGV)

    def run_code(self, script):
        return box.run([cli.GPUSHIM, "run", "--", "sh", "-c", script], sim=False).returncode

    def test_signals_go_on_to_the_program(self):
        script = "trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
        program = subprocess.Popen([cli.GPUSHIM, "run", "--", "sh", "-c", script], text=True,
                                   env=box.environment(sim=False), stdout=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), "ready\n")
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.communicate(timeout=60)[0], "caught\n")
        self.assertEqual(program.returncode, 9)

    def test_a_stop_is_followed(self):
        program = subprocess.Popen([cli.GPUSHIM, "run", "--", "sh", "-c", "kill -STOP $$; exit 5"],
                                   env=box.environment(sim=False))
        _, status = os.waitpid(program.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        program.send_signal(signal.SIGCONT)
        self.assertEqual(program.wait(timeout=60), 5)

    def test_what_cannot_be_started(self):
        self.assertIn("No such file", self.gpushim("run", "--", "no-such-program", expect=127).stderr)
        self.assertIn("Permission denied", self.gpushim("run", "--", "/etc/passwd", expect=126).stderr)

    def test_options_are_the_variables(self):
        options = ["-o", "x.db", "--max-mb", "5", "--device-time=off", "--samples-per-step", "64",
                   "--disable"]
        shown = self.gpushim("run", *options, "--", "env").stdout.splitlines()
        for line in ("GPUSHIM_OUT=x.db", "GPUSHIM_MAX_MB=5", "GPUSHIM_DEVICE_TIME=off",
                     "GPUSHIM_SAMPLES_PER_STEP=64", "GPUSHIM_DISABLE=1"):
            self.assertIn(line, shown)

    def test_a_preload_that_is_there_stays(self):
        other = self.folder / "other.so"
        source = self.folder / "other.c"
        source.write_text("int other;\n", encoding="utf-8")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", other, source], check=True)
        shown = self.gpushim("run", "--", "env", knobs={"LD_PRELOAD": other}).stdout
        self.assertIn(f"LD_PRELOAD={cli.LIBRARY}:{other}\n", shown)

    def test_a_library_that_does_not_load_stops_it(self):
        """The loader would only warn, and the program would run unseen."""
        program = shutil.copy(cli.GPUSHIM, self.folder)
        self.assertIn("neither beside", self.said_by(program))
        library = self.folder / "libgpushim.so"
        library.write_bytes(cli.LIBRARY.read_bytes()[:5000])
        self.assertIn("cannot be preloaded here", self.said_by(program))
        shutil.copy(cli.LIBRARY, library)
        self.assertEqual(box.run([program, "run", "--", "echo", "ran"], sim=False).stdout, "ran\n")

    def test_a_library_that_does_not_load_is_said_when_traces_are_read(self):
        """It is asked for more than once, and the loader says only once why."""
        program = shutil.copy(cli.GPUSHIM, self.folder)
        (self.folder / "libgpushim.so").write_bytes(b"no library")
        left = pathlib.Path(f"/dev/shm/gpushim-{os.geteuid()}/{uuid.uuid4().hex}")
        self.addCleanup(shutil.rmtree, left)
        left.mkdir(mode=0o700, parents=True)
        done = box.run([program, "report", self.folder], {"GPUSHIM_RECOVER": "all"}, sim=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not everything is recovered", done.stderr)
        self.assertIn("libgpushim.so", done.stderr)

    def said_by(self, program):
        done = box.run([program, "run", "--", "echo", "ran"], sim=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def test_a_folder_that_cannot_be_preloaded_is_refused(self):
        folder = self.folder / "a b"
        folder.mkdir()
        shutil.copy(cli.LIBRARY, folder)
        self.assertIn("space or colon", self.said_by(shutil.copy(cli.GPUSHIM, folder)))

    def test_a_killed_program_is_recovered(self):
        said = self.folder / "said"
        script = (f"{sys.executable} {cli.TRAIN} --ranks 1 --steps 100000 >{said} & "
                  f"until grep -q '^step' {said}; do sleep 0.02; done; "
                  "for child in $(cat /proc/$!/task/*/children); do kill -KILL $child; done; wait $!")
        # At the moment of a kill everything may just have been written; that does not happen ten times.
        for _ in range(10):
            self.traced("sh", "-c", script)
            trace = next(self.folder.glob("*.db"))
            with sqlite3.connect(trace) as base:
                row = base.execute("SELECT produced, recovered, unknown FROM v_ledger").fetchone()
            produced, recovered, unknown = row
            self.assertEqual(unknown, 0)
            trace.unlink()
            said.unlink()
            if recovered > 0 and produced > 100:
                return
        self.fail("nothing was ever recovered")


class Folders(cli.Case):
    def test_a_folder_for_traces_is_made(self):
        done = box.run([cli.GPUSHIM, "run", "-o", self.folder / "new" / "traces" / "%p.db", "--", cli.LINKED])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((self.folder / "new" / "traces").glob("*.db"))), 1)

    def test_a_folder_with_a_run_answers_for_its_traces_too(self):
        self.traced(cli.LINKED)
        self.gpushim("report", self.folder)
        self.assertTrue((self.folder / "gpushim.run.db").exists())
        asked = self.gpushim("sql", self.folder, "SELECT sum(launches) AS n FROM v_kernel_total", "--csv")
        self.assertEqual(asked.stdout.split(), ["n", "9"])
        asked = self.gpushim("sql", self.folder, "SELECT value FROM run WHERE key = 'analysed_by'", "--csv")
        self.assertEqual(asked.stdout.splitlines()[1:], self.gpushim("--version").stdout.splitlines())
        done = self.gpushim("sql", self.folder, "SELECT * FROM nowhere", expect=2)
        self.assertIn("no such table: nowhere", done.stderr)


STAND_IN = """
#include <stdio.h>
int main(int count, char** words) {
    puts(count == 2 && words[1][2] == 'v' ? "gpushim 1" : "  gpushim run a program\\n\\nmore: doctor");
    return 0;
}
"""


class Install(cli.Case):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "opt" / "x"

    def make(self, *words):
        env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        subprocess.run(["make", "-j1", *words, f"DESTDIR={self.folder}", "PREFIX=/opt/x"], cwd=box.ROOT,
                       env=env, check=True, stdout=subprocess.DEVNULL)

    def test_what_is_installed_runs_and_goes_again(self):
        if cli.GPUSHIM != box.ROOT / "build/gpushim":
            self.skipTest(optional.lacks("build_tree"))
        self.make("install")
        done = box.run([self.place / "bin" / "gpushim", "run", "-o", self.folder / "a.db", "--", cli.LINKED])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "a.db").exists())
        self.check_debug_files()
        self.check_page((self.place / "share" / "man" / "man1" / "gpushim.1").read_text(encoding="utf-8"))
        self.check_completions()
        self.check_that_a_new_one_takes_its_place()
        self.check_marks()
        unsought = self.place / "share/gpushim/python"  # there is no python3
        self.assertTrue((unsought / "gpushim/figures.py").is_file())
        self.make("uninstall")
        self.assertEqual([path for path in (self.folder / "opt").rglob("*") if path.is_file()], [])
        self.assertEqual(list(self.folder.rglob(".debug")), [])

    def install(self, what, prefix, destination=""):
        done = subprocess.run([box.ROOT / "scripts" / "install", what], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "GPUSHIM_BUILD": str(box.BUILD), "PREFIX": str(prefix),
                                   "DESTDIR": str(destination)})
        return done.stdout + done.stderr

    def test_the_python_of_the_prefix_finds_the_module(self):
        """And the module finds the program and the library that were installed with it."""
        prefix = self.folder / "prefix"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
        words = [prefix / "bin/python3", "-I", "-c",
                 "from gpushim import _program; print(_program.program_path(), _program.lib_path())"]
        for _ in range(2):  # the second takes the place of the first
            self.assertNotIn("PYTHONPATH", self.install("install", prefix))
            said = subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, cwd=self.folder,
                                  env={"PATH": "/usr/bin:/bin"}).stdout
            self.assertEqual(said.split(), [str(prefix / "bin/gpushim"), str(prefix / "lib/libgpushim.so")])
        self.install("uninstall", prefix)
        self.assertEqual([path for path in prefix.rglob("*gpushim*")], [])

    def test_where_a_python_looks_without_settings_is_below_the_prefix(self):
        """Debian's looks for what is installed in /usr/local there, and not where its own packages are."""
        asks = "import site; print(*site.getsitepackages())"
        for prefix in ("/usr/local", "/usr"):
            python = f"{prefix}/bin/python3"
            if not os.access(python, os.X_OK):
                python = "/usr/bin/python3"
            sought = subprocess.run([python, "-I", "-c", asks], check=True, text=True,
                                    stdout=subprocess.PIPE).stdout.split()
            places = [place for place in sought if place.startswith(f"{prefix}/lib")]
            if not places:
                continue
            self.install("install", prefix, self.folder)
            (module,) = self.folder.rglob("figures.py")
            self.assertEqual(module.parent, pathlib.Path(f"{self.folder}{places[0]}/gpushim"))
            wheels = module.parent / "_lib"  # pip's, from here on
            wheels.mkdir()
            self.install("uninstall", prefix, self.folder)
            self.assertTrue(module.exists())
            wheels.rmdir()
            self.install("uninstall", prefix, self.folder)
            self.assertFalse(module.parent.exists())

    def check_debug_files(self):
        for path in ("bin/gpushim", "lib/libgpushim.so"):
            file = self.place / path
            debug = file.parent / ".debug" / f"{file.name}.debug"
            self.assertNotIn(".debug_info", self.sections(file))
            self.assertIn(".gnu_debuglink", self.sections(file))
            self.assertIn(".debug_info", self.sections(debug))
            self.assertEqual([file.stat().st_mode & 0o777, debug.stat().st_mode & 0o777], [0o755, 0o644])
            built = (box.BUILD / file.name).stat().st_size
            self.assertLess(file.stat().st_size + debug.stat().st_size, built)

    def check_completions(self):
        for shell, file in (("bash", "bash-completion/completions/gpushim"),
                            ("zsh", "zsh/site-functions/_gpushim"),
                            ("fish", "fish/vendor_completions.d/gpushim.fish")):
            self.assertEqual((self.place / "share" / file).read_text(encoding="utf-8"),
                             self.gpushim("help", "--completions", shell).stdout)

    def check_that_a_new_one_takes_its_place(self):
        """A program that has the old file mapped keeps it."""
        with open(self.place / "lib" / "libgpushim.so", "rb") as old:
            self.make("install")
            self.assertEqual(os.fstat(old.fileno()).st_nlink, 0)

    def check_marks(self):
        header = (self.place / "include" / "gpushim.h").read_text(encoding="utf-8")
        self.assertIn("gpushim_step_n", header)
        package = (self.place / "share" / "pkgconfig" / "gpushim.pc").read_text(encoding="utf-8")
        self.assertTrue(package.startswith("prefix=/opt/x\n"), package)

    def sections(self, file):
        return subprocess.run(["readelf", "-SW", file], stdout=subprocess.PIPE, text=True, check=True).stdout

    def check_page(self, page):
        self.assertTrue(page.startswith('.TH GPUSHIM 1 "" "gpushim '), page[:80])
        for part in (".SH COMMANDS", ".SS run", ".SS doctor", ".SH ENVIRONMENT", "\\-\\-max\\-mb N"):
            self.assertIn(part, page)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-z"], input=page, text=True,
                                  check=True, stderr=subprocess.PIPE)
            self.assertEqual(done.stderr, "")

    def test_the_loader_is_told_only_where_it_looks(self):
        """By a stand-in for its tool, so nothing of this system is changed."""
        tools, built, told = self.folder / "tools", self.folder / "built", self.folder / "told"
        for name, script in (("id", "echo 0"), ("ldconfig", f"[ $# -eq 0 ] && echo told >>'{told}' || "
                                                            f"echo '{self.place}/lib: (from it)'")):
            tools.mkdir(exist_ok=True)
            (tools / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (tools / name).chmod(0o755)
        built.mkdir()
        for file in ("gpushim", "libgpushim.so"):
            subprocess.run(["gcc", "-g", "-x", "c", "-", "-o", built / file], input=STAND_IN, text=True,
                           check=True)
        for prefix, destination, lines in ((self.place, "", "told\n"), (self.folder / "opt" / "y", "", ""),
                                           ("/opt/x", self.folder, "")):
            env = {**os.environ, "GPUSHIM_BUILD": str(built), "PREFIX": str(prefix),
                   "DESTDIR": str(destination), "PATH": f"{tools}:{os.environ['PATH']}"}
            for what in ("install", "uninstall"):
                told.write_text("", encoding="utf-8")
                subprocess.run([box.ROOT / "scripts" / "install", what], env=env, check=True,
                               stdout=subprocess.DEVNULL)
                self.assertEqual(told.read_text(encoding="utf-8"), lines, (prefix, what))
