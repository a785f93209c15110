"""A driver that is newer than the hook tables: calls that are asked for in a version that nobody here knows
are handed out as they are, counted, and told."""
import json
import signal
import subprocess
import time

import box
import cli
import preload

# Between the program and the box's driver: version 14000 of a name is a function that is no export.
TOMORROW = r"""
#include <dlfcn.h>
#include <string.h>
static int newest(void) { return 0; }
typedef int Ask(const char*, void**, int, unsigned long long, int*);
int cuGetProcAddress_v2(const char* name, void** found, int version, unsigned long long flags, int* status) {
    Ask* driver = (Ask*)dlsym(RTLD_NEXT, "cuGetProcAddress_v2");
    if (version < 14000) return driver(name, found, version, flags, status);
    *found = (void*)newest;
    if (status != 0) *status = 0;
    return 0;
}
"""
PROGRAM = r"""
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define CHECK(call) if ((call) != CUDA_SUCCESS) return 1

static int ask(const char* name, int version) {
    void* found = 0;
    CUdriverProcAddressQueryResult status;
    return cuGetProcAddress(name, &found, version, 0, &status) != CUDA_SUCCESS || found == 0;
}

int main(int count, char** words) {
    CUcontext context;
    if (ask("cuLaunchKernel", 14000)) return 2;  // before anything is recorded
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0, 0));
    if (ask("cuLaunchKernel", 13000) || ask("cuGetErrorName", 14000)) return 2;  // known; not hooked
    for (int i = 1; i < atoi(words[1]); ++i)
        if (ask("cuMemAlloc", 14000)) return 2;
    CHECK(cuCtxSynchronize());
    if (count > 2) {
        puts("asked");
        fflush(stdout);
        pause();
    }
    return 0;
}
"""


class UnknownAbi(cli.Case):
    def setUp(self):
        super().setUp()
        self.program = preload.compiled(PROGRAM, self.folder / "program")
        self.tomorrow = self.folder / "tomorrow.so"
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-x", "c", "-", "-o", self.tomorrow,
                        "-ldl"], input=TOMORROW, text=True, check=True)

    def knobs(self):
        return {**preload.variables(self.folder), "LD_PRELOAD": f"{preload.SHIM} {self.tomorrow}"}

    def run_asking(self, times):
        done = box.run([self.program, times], self.knobs())
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def counted(self):
        return [preload.query(trace, "SELECT value FROM meta WHERE key = 'unknown_abi'")
                for trace in sorted(self.folder.glob("trace.*.db"))]

    def ledger(self):
        return json.loads(self.gpushim("report", self.folder, "--json").stdout)["ledger"]

    def test_they_are_counted_and_told(self):
        self.run_asking(3)
        self.assertEqual(self.counted(), [[(3,)]])
        self.assertEqual(self.ledger()["unknown_abi"], 3)
        self.assertIn("not seen: what the program did through 3 calls that were requested for a version",
                      self.gpushim("report", self.folder).stdout)

    def test_none_is_none(self):
        done = box.run([self.program, 1], {**preload.variables(self.folder)})
        self.assertEqual(done.returncode, 0)  # a driver that has nothing newer gives what it has
        self.assertEqual(self.counted(), [[(0,)]])
        self.assertEqual(self.ledger()["unknown_abi"], 0)
        self.assertNotIn("newer than", self.gpushim("report", self.folder).stdout)

    def test_processes_add_up_and_one_that_does_not_say_is_told(self):
        for times in (2, 3):
            self.run_asking(times)
        self.assertEqual(self.ledger()["unknown_abi"], 5)
        base = preload.sqlite3.connect(next(self.folder.glob("trace.*.db")))
        base.execute("DELETE FROM meta WHERE key = 'unknown_abi'")
        base.commit()
        base.close()
        ledger = self.ledger()
        self.assertIsNone(ledger["unknown_abi"])
        self.assertIn("unknown_abi: not all traces say", ledger["why"])

    def test_what_was_counted_outlives_the_process(self):
        with subprocess.Popen([self.program, "4", "stay"], env=box.environment(self.knobs()),
                              stdout=subprocess.PIPE) as process:
            self.addCleanup(process.kill)
            self.assertEqual(process.stdout.readline(), b"asked\n")
            until = time.monotonic() + 60
            while self.counted() != [[(4,)]]:  # in the trace's next transaction
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        self.assertEqual(self.ledger()["unknown_abi"], 4)

    def test_doctor_says_it(self):
        done = self.gpushim("doctor", "--json", "--", self.program, "2", sim=True,
                            knobs={"LD_PRELOAD": self.tomorrow})
        found = {finding["what"]: finding for finding in json.loads(done.stdout)["findings"]}
        self.assertEqual(found["versions"]["verdict"], "LIMITED")
        self.assertIn("2 calls that were requested for", found["versions"]["text"])
