"""scripts/gpu-check, rehearsed on the box: right as it is, and wrong as soon as one hook is missing."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import threading

import box
import preload

CHECK = box.ROOT / "scripts" / "gpu-check"
# A hook that is taken away, and the row that has to notice.
ROWS = (
    ("cuLaunchKernel", "driver"),
    ("cuMemcpyHtoDAsync_v2", "driver"),
    ("cuMemsetD32Async", "driver"),
    ("cuMemcpyDtoHAsync_v2", "linked"),
    ("cuGetProcAddress_v2", "lookups"),
    ("cuEventSynchronize", "driver"),
    ("cuLaunchKernel", "doors"),
    ("cuGraphLaunch", "cupti"),
    ("cuLaunchKernel", "ends"),
    ("ncclAllReduce", "train"),
    ("cuLaunchKernel", "windows"),
    ("cuLaunchKernel", "governor"),
    ("cuLaunchKernel", "cost"),
    ("cuLaunchKernel", "precision"),
    ("cuLaunchKernel", "truth"),
    ("cuLaunchKernel", "step_cost"),
    ("cuMemcpyHtoDAsync_v2", "ceilings"),
    ("cuMemAlloc_v2", "memory"),
)
ROWS_THERE = sorted((box.ROOT / "test" / "gpu" / "rows").glob("*.py"))
NAMES = {path.stem for path in ROWS_THERE}
TOGETHER = {path.stem for path in ROWS_THERE if "TOGETHER = " in path.read_text(encoding="utf-8")}
STEPS = {"truth", "step_cost", "cost"}
# What one call has time for, by the limits of rows, beside those that run together; and what a second has.
TOGETHER_S = 100
FIRST_CALL = ["device_facts", "truth", "step_cost", "choices", "ceilings", "nvml", "memory", "steps",
              "precision"]
SECOND_CALL = ["windows", "cost", "governor"]
NO_GPU = ["on_the_cpu"]
ELSEWHERE = {"steps"}  # takes the longest, and the series have tests of their own

sys.path.insert(0, str(box.ROOT / "test" / "gpu"))

import evidence  # noqa: E402
import facts  # noqa: E402
import machine as m  # noqa: E402

# A program that is never over under the shim.
HANGS = "import os, time; time.sleep(600 if 'LD_PRELOAD' in os.environ else 0)"


class GpuCheck(preload.PreloadCase):
    def check(self, part="", *options, library=preload.SHIM, **variables):
        env = {**os.environ, "GPU_CHECK_REHEARSE": "1", "GPU_CHECK_LIBRARY": str(library), **variables}
        return subprocess.run([sys.executable, CHECK, *options, part], env=env, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_rows_that_run_together_are_right_and_marked(self):
        self.rehearse(TOGETHER, first=["lookups"] * 3 + ["driver"])

    def test_rows_of_steps_are_right_and_marked(self):
        self.rehearse(STEPS, first=["truth"])

    def test_all_other_rows_are_right_and_marked(self):
        self.rehearse(NAMES - TOGETHER - STEPS - ELSEWHERE, first=["device_facts"])

    def rehearse(self, names, first):
        results = set((box.ROOT / "test" / "gpu").glob("results/*"))
        done = self.check(" ".join(names), "--together", "2", "--json", self.folder / "found.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        title, *rows, last, _ = filter(lambda line: not line.startswith(" "), done.stdout.splitlines())
        self.assertIn("Simulated GPU   no GPU: a rehearsal, no figure is a GPU's", title)
        self.assertRegex(last, r"^\d+ right, 0 wrong, \d+ skipped, \d+ s$")
        self.assertGreaterEqual(len(rows), len(names))
        self.assertEqual([row for row in rows if not row.startswith("box  ")], [])
        self.assertEqual(set((box.ROOT / "test" / "gpu").glob("results/*")), results)
        found = json.loads((self.folder / "found.json").read_text(encoding="utf-8"))
        self.assertEqual((found["where"], found["complete"], found["driver"]), ("box", True, "simulated"))
        listed = [[row["verdict"], row["row"]] for row in found["rows"]]
        self.assertEqual(sorted(row.split()[1:3] for row in rows), sorted(listed))
        self.assertEqual({name for _, name in listed}, names)
        self.assertEqual([name for _, name in listed][:len(first)], first)  # in their order

    def test_there_is_time_for_what_matters_in_one_call_and_for_the_rest_in_another(self):
        loader = importlib.machinery.SourceFileLoader("gpu_check", str(CHECK))
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
        loader.exec_module(script)
        alone = [row for row in script.rows("") if row.__name__ not in TOGETHER]
        self.assertEqual([row.__name__ for row in alone], [*FIRST_CALL, *SECOND_CALL, *NO_GPU])
        limits = {row.__name__: row.LIMIT_S for row in alone}
        self.assertLessEqual(TOGETHER_S + sum(limits[name] for name in FIRST_CALL), script.SECONDS)
        self.assertLessEqual(sum(limits[name] for name in SECOND_CALL), script.SECONDS)

    def test_without_one_hook_it_is_wrong(self):
        self.without_hooks(lambda row: row in TOGETHER)

    def test_without_one_hook_rows_of_times_are_wrong(self):
        self.without_hooks(lambda row: row not in TOGETHER)

    def without_hooks(self, chosen):
        for export, row in ROWS:
            if not chosen(row):
                continue
            with self.subTest(hook=export, row=row):
                # A busy machine takes longer than a row may take on a GPU that is lent for minutes.
                done = self.check(row, "--slow", "4",
                                  library=preload.without_row(export, self.folder / "libgpushim.so"))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"box  WRONG   {row}", done.stdout)

    def test_a_machine_without_git_and_a_folder_that_cannot_be_written(self):
        nothing = self.folder / "bin"
        nothing.mkdir()
        done = self.check("lookups", "--results", "/proc/nowhere", PATH=str(nothing))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        told = re.fullmatch(r"gpu-check: /proc/nowhere: .*; results go to (.*)\n", done.stderr)
        self.assertTrue(told, done.stderr)
        self.addCleanup(shutil.rmtree, told[1])
        (file,) = pathlib.Path(told[1]).glob("*.json")
        found = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual([row["verdict"] for row in found["rows"]], ["ok"] * 3)
        self.assertIn("git: none", found["machine"]["programs"])

    def test_results_go_where_the_caller_has_a_place_for_them(self):
        for variables in ({"OUT": str(self.folder)}, {"GPU_CHECK_RESULTS": str(self.folder / "named")}):
            with self.subTest(variables):
                self.assertEqual(self.check("linked", **variables).returncode, 0)
                (table,) = pathlib.Path(*variables.values()).glob("*linked.md")
                self.assertIn("| ok | linked |", table.read_text(encoding="utf-8"))

    def test_what_was_wrong_leaves_its_evidence_and_all_others_stand_on_the_first(self):
        library = preload.without_row("cuLaunchKernel", self.folder / "libgpushim.so")
        done = self.check("driver", "--results", self.folder, "--again", "--then", "train", library=library)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, "skipped +train +a row on which all others stand is wrong")
        (archive,) = self.folder.glob("*.evidence.tar")
        with tarfile.open(archive) as rows:
            self.assertEqual(rows.getnames(), ["driver.tar.gz"])
            with tarfile.open(fileobj=rows.extractfile("driver.tar.gz")) as files:
                names = files.getnames()
                self.assertTrue(any(name.endswith(".db") for name in names), names)
                again = files.extractfile("again.txt").read().decode()
                self.assertIn("AssertionError: launches", again)
                last = max(name for name in names if name.startswith("run-"))
                self.assertIn("GPUSHIM_OUT=", files.extractfile(last).read().decode())

    def test_evidence_is_small_enough_to_be_carried_away(self):
        for row, size in (("old", 3 << 20), ("large", 9 << 20), ("new", 3 << 20)):
            folder = self.folder / row
            folder.mkdir()
            (folder / "trace.db").write_bytes(os.urandom(size))
            (folder / "run-01.txt").write_text("status 1", encoding="utf-8")
        kept = evidence.Evidence(self.folder / "evidence.tar", most_bytes=8 << 20)
        for row in ("old", "large", "new"):
            kept.keep(row, self.folder / row)
        self.assertLess(kept.file.stat().st_size, 8 << 20)
        with tarfile.open(kept.file) as rows:
            self.assertEqual(rows.getnames(), ["new.tar.gz", "large.tar.gz", "old.tar.gz"])
            held = {name: tarfile.open(fileobj=rows.extractfile(name)).getnames() for name in rows.getnames()}
        self.assertEqual([len(names) for names in held.values()], [2, 1, 2])
        kept.keep("right", self.folder / "new", is_wrong=False)
        with tarfile.open(kept.file) as rows:
            self.assertEqual(rows.getnames()[-1], "right.tar.gz")

    def test_no_fact_of_the_machine_stops_the_check(self):
        over = threading.Event()
        self.addCleanup(over.set)
        told = facts.told({"broken": lambda: 1 / 0, "late": over.wait, "fine": lambda: "yes"}, 3)
        self.assertEqual(told, {"broken": "not told: ZeroDivisionError division by zero",
                                "late": "not told in time", "fine": "yes"})

    def test_what_has_no_time_is_skipped(self):
        done = self.check("d", "--seconds", "0", "--json", self.folder / "found.json")
        self.assertEqual(done.returncode, 1)  # nothing was right
        found = json.loads((self.folder / "found.json").read_text(encoding="utf-8"))
        self.assertEqual({(row["verdict"], row["found"]) for row in found["rows"]},
                         {("skipped", "no time left")})

    def test_a_program_that_is_not_over_under_the_shim_is_wrong_and_else_late(self):
        machine = m.Machine(preload.SHIM, rehearse=True)
        self.addCleanup(machine.forget)
        command = [sys.executable, "-c", HANGS]
        machine.begin(2)
        with self.assertRaisesRegex(m.OutOfTime, "not over after 2 s"):  # it might have been as long without
            machine.traced(command)
        with self.assertRaisesRegex(m.OutOfTime, "no time left"):
            machine.plain(command)
        machine.begin(3)
        machine.plain(command)
        machine.plain_s = 0.1
        with self.assertRaisesRegex(AssertionError, "under the shim"):
            machine.traced(command)
