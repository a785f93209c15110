"""How fast and how large the box is: launches against plain calls of a process, memory, many at once."""
import subprocess
import sys
import tempfile
import unittest

import box
import in_memory
import preload

FREE = {"GPUSIM_LAUNCH_NS": 0, "GPUSIM_LATENCY_NS": 0, "GPUSIM_EVENT_NS": 0, "GPUSIM_EVENT_LATENCY_NS": 0,
        "GPUSIM_CALL_NS": 0}

MOST_PLAIN_CALLS = 1500

PROGRAM = r"""
#include "one_gpu.h"
#include <dlfcn.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long resident_kib(void) {
    char line[256];
    long kib = 0;
    FILE* file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    fclose(file);
    return kib;
}

static CUfunction function;
static CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          CUstream, void**, void**);
static int (*plain)(int);

static double launches(int count) {
    double start = now_s();
    for (int i = 0; i < count; ++i)
        if (launch(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0) != CUDA_SUCCESS) return -1;
    return (now_s() - start) / count;
}

static double plain_calls(int count) {
    double start = now_s();
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += plain(i);
    return sum == 1 ? 1 : (now_s() - start) / count;
}

int main(void) {
    enum { ROUNDS = 20, COUNT = 50000 };
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    launch = dlsym(driver, "cuLaunchKernel");
    plain = dlsym(RTLD_DEFAULT, "abs");
    open_gpu();
    function = kernel_of("kernel__100ns");
    if (launches(1000) < 0) return 1;
    double best = 1, best_plain = 1;
    long before = resident_kib();
    for (int round = 0; round < ROUNDS; ++round) { /* the quickest of each: what others do only adds */
        double one = launches(COUNT), other = plain_calls(COUNT);
        if (one < 0) return 1;
        if (one < best) best = one;
        if (other < best_plain) best_plain = other;
    }
    MUST(cuCtxSynchronize());
    printf("launch_ns %.1f plain_ns %.3f grown_kib %ld\n", best * 1e9, best_plain * 1e9,
           resident_kib() - before);
    return 0;
}
"""


def figures(output):
    words = output.split()
    return dict(zip(words[::2], map(float, words[1::2])))


class BoxSpeedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        cls.program = preload.compiled(PROGRAM, f"{cls.folder}/launches")

    def measured(self, knobs):
        process = box.run([self.program], knobs=knobs)
        self.assertEqual(process.returncode, 0, process.stderr)
        return figures(process.stdout)

    def test_a_launch_that_costs_nothing_is_quick(self):
        """A launch is two or three hundred plain calls of a function: ten times slower breaks this."""
        for clock in ("real", "stepped"):
            with self.subTest(clock=clock):
                found = self.measured({**FREE, "GPUSIM_CLOCK": clock})
                ratio = found["launch_ns"] / found["plain_ns"]
                print(f"{clock}: {1e3 / found['launch_ns']:.2f} M launches/s, {ratio:.0f} plain calls each",
                      file=sys.stderr)
                self.assertLess(ratio, MOST_PLAIN_CALLS)

    def test_a_million_launches_need_no_memory(self):
        self.assertLess(self.measured(FREE)["grown_kib"], 64 * 1024)

    def test_a_million_launches_with_truth_need_no_memory(self):
        with tempfile.TemporaryDirectory(prefix="gpusim-speed-") as folder:
            truth = f"{folder}/truth"
            self.assertLess(self.measured({**FREE, "GPUSIM_TRUTH": truth})["grown_kib"], 64 * 1024)
            with open(truth, encoding="utf-8") as file:
                self.assertEqual(sum(1 for _ in file), 1_001_000)

    def test_eight_processes_at_once_all_finish(self):
        running = [subprocess.Popen([self.program], env=box.environment(FREE), text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
        for process in running:
            output, errors = process.communicate(timeout=200)
            self.assertEqual((process.returncode, errors), (0, ""))
            self.assertIn("launch_ns", figures(output))
