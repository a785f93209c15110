"""gpushim's commands: what they print where, what they exit with, what they leave behind."""
import csv
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import box
import cli
import made_traces


class Help(cli.Case):
    def test_the_words_people_type_come_first(self):
        listed = self.gpushim("--help").stdout
        places = [listed.index(f"gpushim {name}") for name in ("run", "report", "sql")]
        self.assertEqual(places, sorted(places))
        self.assertIn("more: doctor", listed)

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
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "text", "problem\n"))

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
        options = ["-o", "x.db", "--max-mb", "5", "--device-time=off", "--samples-per-step", "64", "--disable"]
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
        script = (f"{sys.executable} {cli.TRAIN} --ranks 1 --steps 100000 & "
                  f"until ls {self.folder}/*.db >/dev/null 2>&1; do sleep 0.02; done; sleep 0.3; "
                  "for child in $(cat /proc/$!/task/*/children); do kill -KILL $child; done; wait $!")
        self.traced("sh", "-c", script)
        trace = next(self.folder.glob("*.db"))
        with sqlite3.connect(trace) as base:
            produced, recovered, unknown = base.execute("SELECT produced, recovered, unknown FROM v_ledger").fetchone()
        self.assertGreater(produced, 100)
        self.assertGreater(recovered, 0)
        self.assertEqual(unknown, 0)


class Sql(cli.Case):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "a.db"
        made_traces.make(self.trace)

    def test_a_table_for_people(self):
        shown = self.gpushim("sql", self.trace, "SELECT kernel, launches FROM v_kernel_total").stdout
        self.assertEqual(shown, "kernel      launches\ngemm__10us       100\n")

    def test_csv_and_json(self):
        query = "SELECT 1 AS n, NULL AS none, 'a,\"b' AS text, 0.5 AS half, '=1+1' AS formula, x'00ff' AS bytes"
        rows = list(csv.reader(io.StringIO(self.gpushim("sql", self.trace, query, "--csv").stdout)))
        self.assertEqual(rows, [["n", "none", "text", "half", "formula", "bytes"],
                                ["1", "", 'a,"b', "0.5", "'=1+1", "x'00ff'"]])
        self.assertEqual(json.loads(self.gpushim("sql", self.trace, query, "--json").stdout),
                         [{"n": 1, "none": None, "text": 'a,"b', "half": 0.5, "formula": "=1+1", "bytes": "00ff"}])
        self.assertEqual(self.gpushim("sql", self.trace, "SELECT 1 WHERE 0", "--json").stdout, "[]\n")

    def test_a_file_of_statements_and_stdin(self):
        text = "-- two questions\nSELECT 1 AS one;\nSELECT 2 AS two;\n"
        (self.folder / "q.sql").write_text(text, encoding="utf-8")
        by_file = self.gpushim("sql", self.trace, self.folder / "q.sql").stdout
        by_stdin = subprocess.run([cli.GPUSHIM, "sql", self.trace], input=text, text=True, check=True,
                                  env=box.environment(sim=False), stdout=subprocess.PIPE).stdout
        self.assertEqual(by_file, "one\n  1\ntwo\n  2\n")
        self.assertEqual(by_stdin, by_file)

    def test_the_shells_own_words(self):
        done = subprocess.run([cli.GPUSHIM, "sql", self.trace], text=True, check=False,
                              input=".tables\n.schema v_offset\nSELECT absent;\nSELECT 5 AS five;\n.quit\nSELECT 6;\n",
                              env=box.environment(sim=False), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for text in ("v_kernel_total\n", "CREATE VIEW v_offset", "five\n   5\n"):
            self.assertIn(text, done.stdout)
        self.assertNotIn("6", done.stdout.splitlines()[-1])
        self.assertIn("no such column: absent", done.stderr)
        self.assertEqual(done.returncode, 2)

    def test_nothing_is_changed_and_nothing_left(self):
        before = self.trace.read_bytes()
        self.gpushim("sql", self.trace, "DELETE FROM launch", expect=2)
        self.gpushim("sql", self.trace, "CREATE TABLE t (a)", expect=2)
        self.assertEqual(self.trace.read_bytes(), before)

    def test_reading_leaves_nothing_beside_a_trace(self):
        """The program alone, without the library that would recover."""
        (self.folder / "bin").mkdir()
        program = shutil.copy(cli.GPUSHIM, self.folder / "bin")
        done = box.run([program, "sql", self.trace, "SELECT count(*) AS n FROM launch"], sim=False)
        self.assertIn("100", done.stdout)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.db", "bin"])

    def test_a_trace_that_is_being_written(self):
        writer = sqlite3.connect(self.trace)
        writer.execute("UPDATE meta SET value = 'elsewhere' WHERE key = 'host'")
        writer.commit()
        shown = self.gpushim("sql", self.trace, "SELECT value FROM meta WHERE key = 'host'").stdout
        self.assertIn("elsewhere", shown)
        writer.close()

    def test_what_is_no_database(self):
        os.mkfifo(self.folder / "fifo.db")
        (self.folder / "empty.db").touch()
        (self.folder / "text.db").write_text("SQLite format 4, honestly\n" * 9, encoding="utf-8")
        (self.folder / "short.db").write_bytes(self.trace.read_bytes()[:5000])
        for name, why in {"fifo.db": "not a regular file", "empty.db": "empty", "text.db": "not a SQLite database",
                          "short.db": "malformed", "none.db": "No such file"}.items():
            with self.subTest(name):
                done = self.gpushim("sql", self.folder / name, "SELECT count(*) FROM launch", expect=2, timeout=30)
                self.assertIn(name, done.stderr)
                self.assertIn(why, done.stderr)

    def test_a_name_cannot_write_on_the_terminal(self):
        shown = self.gpushim("sql", self.trace, "SELECT char(27) || '[31m' || char(0x202e) AS evil").stdout
        self.assertEqual(shown.splitlines()[1], r"\x1b[31m\xe2\x80\xae")


class ManyTraces(cli.Case):
    def ask(self, query):
        return json.loads(self.gpushim("sql", self.folder / "run", query, "--json").stdout)

    def test_11_and_64_files_are_one(self):
        for ranks in (11, 64):
            with self.subTest(ranks):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                made_traces.make_run(self.folder / "run", ranks)
                self.assertEqual(self.ask("SELECT count(*) AS n, count(DISTINCT rank) AS ranks FROM launch"),
                                 [{"n": 100 * ranks, "ranks": ranks}])
                self.assertEqual(self.ask("SELECT sum(launches) AS n FROM v_kernel_total"), [{"n": 100 * ranks}])
                report = self.gpushim("report", self.folder / "run").stdout.splitlines()
                self.assertEqual(report[0].split(" produced")[0], f"events  {117 * ranks:,}")
                self.assertLessEqual(len(report), 60)

    def test_rows_say_whose_they_are(self):
        made_traces.make_run(self.folder / "run", 3)
        self.assertEqual(self.ask("SELECT trace, rank, bytes FROM copy WHERE rank = 2 LIMIT 1"),
                         [{"trace": 3, "rank": 2, "bytes": 1_000_000}])
        self.assertEqual(self.ask("SELECT file FROM traces WHERE rank = 1")[0]["file"],
                         str(self.folder / "run" / "gpushim.box.1.101.db"))
        self.assertEqual(self.ask("SELECT p.trace, p.pid, t.pid AS same FROM process p JOIN traces t USING (trace)"
                                  " WHERE trace = 2"), [{"trace": 2, "pid": 101, "same": 101}])

    def test_conditions_go_down_to_the_traces(self):
        made_traces.make_run(self.folder / "run", 2)
        window = "FROM launch WHERE enter_ns BETWEEN 12000 AND 32000"
        plan = " ".join(row["detail"] for row in self.ask(f"EXPLAIN QUERY PLAN SELECT * {window}"))
        self.assertIn('"enter_ns" >= ?1', plan)
        self.assertEqual(self.ask(f"SELECT count(*) AS n {window}"), [{"n": 6}])
        self.assertEqual(self.ask(f"SELECT count(*) AS n {window} AND trace = 2 AND dur_ns > 4001"), [{"n": 2}])

    def test_the_newest_run_is_taken_and_the_others_named(self):
        made_traces.make_run(self.folder / "run", 2, run_key="old")
        made_traces.make(self.folder / "run" / "new.db", run_key="new", started_ns=10**9)
        done = self.gpushim("report", cwd=self.folder / "run")
        self.assertIn("117 produced", done.stdout)
        self.assertIn("holds 2 runs", done.stdout)
        self.assertIn("gpushim.box.1.101.db", done.stdout)

    def test_a_copy_is_not_counted_twice(self):
        made_traces.make_run(self.folder / "run", 1)
        shutil.copy(self.folder / "run" / "gpushim.box.0.100.db", self.folder / "run" / "copy.db")
        done = self.gpushim("report", self.folder / "run")
        self.assertIn("117 produced", done.stdout)
        self.assertIn("is a copy of another trace", done.stdout)

    def test_what_cannot_be_read_is_said_and_the_rest_reported(self):
        made_traces.make_run(self.folder / "run", 2)
        (self.folder / "run" / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
        done = self.gpushim("report", self.folder / "run", expect=3)
        self.assertIn("234 produced", done.stdout)
        for shown in (done.stdout, done.stderr):
            self.assertIn("broken.db", shown)
        self.gpushim("report", self.folder / "run" / "broken.db", expect=2)

    def test_a_newer_trace_is_refused(self):
        made_traces.make_run(self.folder / "run", 1)
        with sqlite3.connect(self.folder / "run" / "gpushim.box.0.100.db") as base:
            base.execute("PRAGMA user_version = 99")
        self.assertIn("written by a newer gpushim (schema 99", self.gpushim("report", self.folder / "run", expect=2).stderr)


class Report(cli.Case):
    def test_json_has_what_is_promised(self):
        made_traces.make_run(self.folder / "run", 2)
        answer = json.loads(self.gpushim("report", self.folder / "run", "--json").stdout)
        self.assertEqual(answer["schema"], 1)
        self.assertEqual(answer["ledger"], {"produced": 234, "recorded": 234, "dropped": {}, "recovered": 0,
                                            "unfinished": 0, "unknown": 0, "traces": 2, "ranks_seen": 2,
                                            "ranks_expected": 2})
        self.assertEqual(answer["gpus"][1], {"rank": 1, "gpu": "GPU-1", "name": "Simulated GPU", "simulated": True,
                                             "memory_total_bytes": 16 << 30})
        launches = {call["api"]: call for call in answer["calls"]}["cuLaunchKernel"]
        self.assertEqual(launches, {"api": "cuLaunchKernel", "count": 200, "sum_ns": 2 * sum(range(4000, 4100)),
                                    "p50_ns": 4049, "p99_ns": 4098})
        self.assertEqual(answer["copies"][0]["host_bytes_per_s"], 1e9)
        self.assertEqual(answer["collectives"][0]["bytes"], 1_000_000)
        self.assertEqual(answer["memory"][0]["memory_peak_bytes"], 1 << 30)

    def test_losses_are_said_by_reason(self):
        made_traces.make_run(self.folder / "run", 1)
        with sqlite3.connect(self.folder / "run" / "gpushim.box.0.100.db") as base:
            base.execute("INSERT INTO \"drop\" VALUES (1, 'full', 5, 40), (1, 'full', 9, 1234), (2, 'no_ring', 7, 1)")
        self.assertIn("1,352 produced = 117 recorded + 0 recovered + 1,235 dropped (full 1,234, no_ring 1) + "
                      "0 unfinished; unknown 0", self.gpushim("report", self.folder / "run").stdout)

    def test_only_what_is_simulated_is_called_so(self):
        made_traces.make_run(self.folder / "run", 1, device="NVIDIA H200")
        self.assertNotIn("SIMULATED", self.gpushim("report", self.folder / "run").stdout)

    def test_a_second_report_is_the_same(self):
        self.traced(cli.LINKED)
        first, second = (self.gpushim("report", self.folder).stdout for _ in range(2))
        self.assertEqual(first, second)

    def test_a_hostile_name_stays_text(self):
        made_traces.make(self.folder / "a.db", kernel="\x1b]0;title\x07<script>`\n" + "x" * 5000)
        shown = self.gpushim("report", self.folder).stdout
        self.assertIn(r"\x1b]0;title\x07<script>", shown)
        self.assertLess(max(map(len, shown.splitlines())), 140)
        json.loads(self.gpushim("report", self.folder, "--json").stdout)

    def test_nothing_there(self):
        said = self.gpushim("report", self.folder, expect=2).stderr
        self.assertIn("gpushim doctor", said)


class Doctor(cli.Case):
    def findings(self, *words, expect=0, knobs=None, sim=True):
        answer = json.loads(self.gpushim("doctor", "--json", *words, expect=expect, knobs=knobs, sim=sim).stdout)
        return {finding["what"]: (finding["verdict"], finding["text"]) for finding in answer["findings"]}

    def test_what_is_here(self):
        findings = self.findings(knobs={"GPUSIM_DEVICES": 3})
        self.assertEqual({verdict for verdict, _ in findings.values()} - {"LIMITED"}, {"ok"})
        self.assertIn("CUDA 13.0", findings["driver"][1])
        self.assertEqual(findings["GPUs"][1], "3: Simulated GPU, Simulated GPU, Simulated GPU")

    def test_what_would_not_be_seen(self):
        static, setuid = self.folder / "static", self.folder / "setuid"
        (self.folder / "a.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        subprocess.run(["gcc", "-static", "-o", static, self.folder / "a.c"], check=True)
        shutil.copy("/bin/true", setuid)
        setuid.chmod(0o4755)
        for program, why in {static: "linked statically", setuid: "setuid", "no-such": "not found"}.items():
            with self.subTest(program):
                self.assertIn(why, self.findings("--", str(program), expect=3)["program"][1])
        self.assertEqual(self.findings(knobs={"GPUSHIM_DISABLE": 1}, expect=3)["switch"][0], "BLIND")
        self.assertIn("not writable", self.findings(knobs={"GPUSHIM_OUT": "/nowhere/x.db"}, expect=3)["output"][1])

    def test_a_program_without_cuda_leaves_nothing_to_see(self):
        self.assertIn("left no trace", self.findings("--", "true", expect=3)["tried"][1])

    def test_hooks_are_counted_as_the_driver_counts_them(self):
        truth = self.folder / "truth"
        answer = json.loads(self.gpushim("doctor", "--hooks", "--json", "--", str(cli.LINKED), sim=True,
                                         knobs={"GPUSIM_TRUTH": f"{truth}.%p"}).stdout)
        counts = {}
        for path in self.folder.glob("truth.*.counts"):
            counts.update({name: count for name, count in box.read_counts(path).items() if count.entered})
        recorded = {hook["name"]: hook["calls"] for hook in answer["hooks"]}
        self.assertGreater(len(recorded), 300)
        self.assertEqual(recorded["cuLaunchKernel"], 9)
        for name in ("cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord", "cuStreamCreate",
                     "cuMemAlloc_v2", "cuModuleLoadData", "cuStreamSynchronize"):
            self.assertEqual(recorded[name], counts[name].entered - counts[name].nested, name)
        self.assertEqual(recorded["cuGraphLaunch"], 0)


class Install(cli.Case):
    def make(self, *words):
        env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        subprocess.run(["make", "-j1", *words, f"DESTDIR={self.folder}", "PREFIX=/opt/x"], cwd=box.ROOT, env=env,
                       check=True, stdout=subprocess.DEVNULL)

    def test_what_is_installed_runs_and_goes_again(self):
        if box.BUILD != box.ROOT / "build":
            self.skipTest("installs what the plain build has made")
        self.make("install")
        program = self.folder / "opt" / "x" / "bin" / "gpushim"
        done = box.run([program, "run", "-o", self.folder / "a.db", "--", cli.LINKED])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "a.db").exists())
        self.make("uninstall")
        self.assertEqual([path for path in (self.folder / "opt").rglob("*") if path.is_file()], [])


if __name__ == "__main__":
    import unittest
    unittest.main()
