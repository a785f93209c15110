"""gpushim doctor: what would be seen, what not, and what was."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import box
import cli
import optional
import preload


class Doctor(cli.Case):
    def findings(self, *words, expect=0, knobs=None, sim=True):
        done = self.gpushim("doctor", "--json", *words, expect=expect, knobs=knobs, sim=sim)
        findings = json.loads(done.stdout)["findings"]
        return {finding["what"]: (finding["verdict"], finding["text"]) for finding in findings}

    def test_what_is_here(self):
        findings = self.findings(knobs={"GPUSIM_DEVICES": 3})
        self.assertEqual({verdict for verdict, _ in findings.values()} - {"LIMITED"}, {"ok"})
        self.assertIn("CUDA 13.0", findings["driver"][1])
        self.assertEqual(findings["GPUs"][1], "3: Simulated GPU, Simulated GPU, Simulated GPU")

    def test_what_would_not_be_seen(self):
        static, raised = self.folder / "plain", self.folder / "raised"
        (self.folder / "a.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
        subprocess.run(["gcc", "-static", "-o", static, self.folder / "a.c"], check=True)
        shutil.copy("/bin/true", raised)
        raised.chmod(0o4755)
        reasons = {static: "linked statically", raised: "is setuid", "no-such": "not found"}
        for program, why in reasons.items():
            with self.subTest(program):
                self.assertIn(why, self.findings("--", str(program), expect=3)["program"][1])
        self.assertEqual(self.findings(knobs={"GPUSHIM_DISABLE": 1}, expect=3)["switch"][0], "BLIND")
        nowhere = self.findings(knobs={"GPUSHIM_OUT": "/etc/passwd/x.db"}, expect=3)["output"]
        self.assertEqual(nowhere, ("BLIND", "/etc/passwd is not writable: set GPUSHIM_OUT"))

    @unittest.skipUnless(shutil.which("setcap") and os.geteuid() == 0, optional.lacks("setcap"))
    def test_a_program_with_capabilities(self):
        raised = self.folder / "raised"
        shutil.copy("/bin/true", raised)
        subprocess.run(["setcap", "cap_net_raw+ep", raised], check=True)
        self.assertIn("has capabilities", self.findings("--", str(raised), expect=3)["program"][1])

    def test_what_was_asked_to_be_left_out(self):
        for variable, value in (("GPUSHIM_RANKS", "0,8-15"), ("GPUSHIM_STEPS", "20:40"),
                                ("GPUSHIM_SCHEDULE", "1:1:3:2"), ("GPUSHIM_DELAY", "5"),
                                ("GPUSHIM_DURATION", "9")):
            verdict, text = self.findings(knobs={variable: value})["asked"]
            self.assertEqual(verdict, "LIMITED")
            self.assertIn(f"{variable}={value}", text)
        self.assertNotIn("asked", self.findings())
        self.assertNotIn("asked", self.findings(knobs={"GPUSHIM_CUBLAS": "auto"}))
        asked = {"GPUSHIM_NCCL_PROFILER": "all"}
        self.assertNotIn("asked", self.findings(knobs=asked))
        self.assertIn("NCCL_PROFILER_PLUGIN=another",
                      self.findings(knobs={**asked, "NCCL_PROFILER_PLUGIN": "another"})["asked"][1])
        self.assertIn("GPUSHIM_CUBLAS=off", self.findings(knobs={"GPUSHIM_CUBLAS": "off"})["asked"][1])
        self.assertEqual(self.findings(knobs={"GPUSHIM_DISABLE": "yes"}, expect=3)["switch"][0], "BLIND")
        self.assertNotIn("switch", self.findings(knobs={"GPUSHIM_DISABLE": "0"}))
        (self.folder / "gpushim.off").touch()
        off = self.findings(knobs={"GPUSHIM_OUT": self.folder / "%p.db"})["switch"]
        self.assertEqual(off[0], "LIMITED")
        self.assertIn("gpushim.off exists", off[1])

    def test_lines_of_python(self):
        self.assertEqual(self.findings()["python"][0], "ok")
        self.assertEqual(self.findings(knobs={"GPUSHIM_PYTHON": "off"})["python"],
                         ("LIMITED", "GPUSHIM_PYTHON=off: lines of Python are not read; unset it"))
        lines = box.ROOT / "test/e2e/program/python_lines"
        verdict, text = self.findings("--", sys.executable, str(lines / "program.py"), "3", "once")["python"]
        self.assertEqual(verdict, "ok")
        self.assertRegex(text, rf"^CPython 3\.{sys.version_info[1]}\.?\d*: \d+ samples of lines")
        unknown = preload.compiled((lines / "interpreter.c").read_text(), self.folder / "unknown",
                                   "-rdynamic", "-DVERSION=0x036301f0")
        self.assertEqual(self.findings("--", str(unknown))["python"],
                         ("LIMITED", "Python 3.99.1 is not known: its lines are not read"))

    def test_own_memory_that_may_not_be_read(self):
        refuses = preload.compiled("""
            #include <errno.h>
            #include <linux/filter.h>
            #include <linux/seccomp.h>
            #include <stddef.h>
            #include <sys/prctl.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            int main(int count, char** words) {
                struct sock_filter rules[] = {
                    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
                struct sock_fprog all = {4, rules};
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &all)) return 9;
                return count > 1 ? execv(words[1], words + 1) : 9;
            }""", self.folder / "refuses")
        done = box.run([refuses, preload.ANALYZER, "doctor", "--json"])
        if done.returncode == 9:
            self.skipTest(optional.lacks("namespaces"))
        found = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
        self.assertEqual(found["python"]["verdict"], "LIMITED")
        self.assertIn("process_vm_readv returned Operation not permitted", found["python"]["text"])

    def test_too_little_room(self):
        knobs = {"GPUSHIM_OUT": self.folder / "%p.db", "GPUSHIM_MIN_FREE_MB": 10**9}
        self.assertEqual(self.findings(knobs=knobs)["output"][0], "LIMITED")
        # Then the rings hold what they can; more of it is lost.
        small = preload.compiled(preload.SMALL_TMPFS, self.folder / "small.so", "-shared", "-fPIC")
        copies = (str(box.BUILD / "faults" / "host"), "copies", str(preload.MORE_THAN_RINGS_HOLD))
        found = self.findings("--", *copies, knobs={**knobs, **preload.QUICK, "LD_PRELOAD": small})
        self.assertEqual((found["tried"][0], found["lost"][0]), ("ok", "LIMITED"))
        self.assertRegex(found["lost"][1], r"^[0-9,]+ events were lost \(disk\): less than GPUSHIM_MIN")

    def test_a_program_that_is_killed(self):
        program = preload.compiled("""
            #include <cuda.h>
            #include <signal.h>
            int main(void) {
                CUcontext context;
                CUdeviceptr memory;
                cuInit(0);
                cuDevicePrimaryCtxRetain(&context, 0);
                cuCtxSetCurrent(context);
                cuMemAlloc_v2(&memory, 4096);
                cuMemsetD8_v2(memory, 1, 4096);
                return raise(SIGKILL);
            }""", self.folder / "killed")
        found = self.findings("--", str(program))
        self.assertEqual(found["tried"][1].split(";")[0], "ended with 137")
        self.assertEqual((found["end"][0], found["end"][1].split(":")[0]),
                         ("LIMITED", "1 process ended before all was written"))

    def test_the_level_of_device_times(self):
        times = self.findings()["times"]
        self.assertEqual((times[0], times[1].split(":")[0]), ("ok", "level events"))
        for knobs, why in (({"GPUSHIM_DEVICE_TIME": "off"}, "GPUSHIM_DEVICE_TIME=off"),
                           ({"GPUSIM_MISSING": "cuEventElapsedTime"}, "has no cuEventElapsedTime")):
            with self.subTest(why):
                times = self.findings(knobs=knobs)["times"]
                self.assertEqual((times[0], times[1].split(":")[0]), ("LIMITED", "level host"))
                self.assertIn(why, times[1])
        times = self.findings(knobs={"GPUSHIM_DEVICE_TIME": "cupti"})["times"]
        self.assertEqual((times[0], times[1].split(":")[0]), ("ok", "level cupti"))
        times = self.findings(knobs={"GPUSHIM_LEGACY_EVENTS": 0})["times"]
        self.assertIn("no events on the default stream", times[1])
        if not shutil.which("nvidia-smi"):
            self.assertEqual(self.findings(expect=3, sim=False)["times"][1], "none: there is no driver")

    def test_a_program_that_asked_for_cupti_and_did_not_get_it(self):
        for copies in (10, 10_000, 1_000_000):  # on a busy machine the library is asked after many of them
            found = self.findings(
                "--", str(box.BUILD / "faults" / "host"), "copies", str(copies),
                knobs={"GPUSHIM_DEVICE_TIME": "cupti", "GPUSIM_FAIL": "cuptiSubscribe_v2:1:35"})
            if found["times"][0] != "ok":
                break
        self.assertEqual(found["times"], ("LIMITED", "CUPTI was not available: cuptiSubscribe failed (error "
                                                     "35); device times come from events"))

    def test_nvml_there_or_not(self):
        self.assertRegex(self.findings(knobs={"GPUSIM_DEVICES": 3})["NVML"][1], "^3 devices: power")
        bare = self.folder / "bare"
        bare.mkdir()
        for library in box.SIM.iterdir():
            if "nvidia-ml" not in library.name:
                (bare / library.name).symlink_to(library.resolve())
        verdict, text = self.findings(knobs={"LD_LIBRARY_PATH": bare})["NVML"]
        self.assertEqual(verdict, "LIMITED")
        self.assertIn("libnvidia-ml.so.1 is missing", text)

    def test_how_devices_are_connected(self):
        done = self.gpushim("doctor", "--topo", sim=True, knobs={"GPUSIM_DEVICES": 3})
        lines = done.stdout.splitlines()
        matrix = [re.split(r"  +", line.strip()) for line in lines]
        linked = "18 x nvlink 4.0 (478 GB/s), "
        self.assertIn(["GPU 0", "-", linked + "one switch", linked + "NUMA node"], matrix)
        self.assertIn(["GPU 2", linked + "NUMA node", linked + "NUMA node", "-"], matrix)
        self.assertRegex(done.stdout, r"GPU 1  Simulated GPU; to the host: "
                                      r"16 x pcie 5 \(63\.0 GB/s\), numa node 0, cpus 0")

    def test_connections_in_json(self):
        done = self.gpushim("doctor", "--topo", "--json", sim=True,
                            knobs={"GPUSIM_DEVICES": 2, "GPUSIM_TOPOLOGY": "pcie"})
        topology = json.loads(done.stdout)["topology"]
        self.assertEqual(topology["devices"], ["Simulated GPU"] * 2)
        self.assertEqual([link for link in topology["links"] if link["peer"] is not None],
                         [{"device": a, "peer": 1 - a, "link": "one switch", "links": None,
                           "bytes_per_s": None} for a in (0, 1)])

    def test_a_program_without_cuda_leaves_nothing_to_see(self):
        self.assertIn("left no trace", self.findings("--", "true", expect=3)["tried"][1])

    def test_hooks_are_counted_as_the_driver_counts_them(self):
        truth = self.folder / "truth"
        # Events of ours would be in the driver's counts.
        knobs = {"GPUSIM_TRUTH": f"{truth}.%p", "GPUSHIM_DEVICE_TIME": "off"}
        answer = json.loads(self.gpushim("doctor", "--hooks", "--json", "--", str(cli.LINKED), sim=True,
                                         knobs=knobs).stdout)
        counts = {}
        for path in self.folder.glob("truth.*.counts"):
            counts.update({name: count for name, count in box.read_counts(path).items() if count.entered})
        recorded = {hook["name"]: hook["calls"] for hook in answer["hooks"]}
        self.assertGreater(len(recorded), 300)
        self.assertEqual(recorded["cuLaunchKernel"], 9)
        for name in ("cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord",
                     "cuStreamCreate", "cuMemAlloc_v2", "cuModuleLoadData", "cuStreamSynchronize"):
            self.assertEqual(recorded[name], counts[name].entered - counts[name].nested, name)
        self.assertEqual(recorded["cuGraphLaunch"], 0)
