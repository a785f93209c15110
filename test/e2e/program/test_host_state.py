"""What threads did between their calls: running by their CPU clock, blocked on what by samples."""
import sys

import box
from preload import PreloadCase, compiled, ledger, query

# Steps of `begin` are the calls around gaps; each test says what happens between them.
C_PROGRAM = """
#include "one_gpu.h"
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
void gpusim_advance_ns(uint64_t);
void gpusim_block_ns(uint64_t);
static int64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void call(void) { MUST(cuCtxSynchronize()); }
static void begin(void) {
    open_primary();
    call();
}
static void run_for(int64_t cpu_ns) {
    int64_t end = now(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end) {}
}
static void* hog(void* word) { while (!*(volatile int*)word) {} return 0; }
static void stay_here(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}
"""

EXACT = C_PROGRAM + """
int main(void) {
    begin();
    for (int i = 0; i < 20; ++i) {
        gpusim_advance_ns(30000 + i * 1000);
        gpusim_block_ns(i * 7000);
        gpusim_advance_ns(40000);
        call();
    }
    return 0;
}
"""

# Prints wall and CPU time of what lies between calls, as the program itself sees it.
SPLIT = C_PROGRAM + """
int main(void) {
    int64_t wall = 0, cpu = 0;
    begin();
    for (int i = 0; i < 60; ++i) {
        int64_t wall_from = now(CLOCK_MONOTONIC), cpu_from = now(CLOCK_THREAD_CPUTIME_ID);
        if (i % 3 != 1) run_for(1000000 + i * 50000);
        if (i % 3 != 0) usleep(2000 + i * 50);
        wall += now(CLOCK_MONOTONIC) - wall_from;
        cpu += now(CLOCK_THREAD_CPUTIME_ID) - cpu_from;
        call();
        for (int k = i % 5; k > 0; --k) call();
    }
    printf("%lld %lld\\n", (long long)wall, (long long)cpu);
    return 0;
}
"""

HOGGED = C_PROGRAM + """
int main(void) {
    volatile int over = 0;
    pthread_t hogs[2];
    begin();
    stay_here();
    for (int i = 0; i < 2; ++i) pthread_create(&hogs[i], 0, hog, (void*)&over);
    for (int i = 0; i < 6; ++i) { run_for(50000000); call(); }
    over = 1;
    for (int i = 0; i < 2; ++i) pthread_join(hogs[i], 0);
    return 0;
}
"""

# A launch with attributes has a second slot, which has to stay beside its first.
LAUNCHES = C_PROGRAM + """
int main(void) {
    CUlaunchAttribute attribute = {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {6, 1, 1, 32, 1, 1, 0, 0, &attribute, 1};
    attribute.value.clusterDim.x = 3;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    begin();
    const CUfunction kernel = kernel_of("k__5us");
    for (int i = 0; i < 9; ++i) {
        gpusim_block_ns(100000);
        MUST(cuLaunchKernelEx(&config, kernel, 0, 0));
    }
    call();
    return 0;
}
"""

# As data loaders do: a thread (or a process) makes batches, the training thread waits for them.
LOADER = """
import ctypes, os, queue, select, subprocess, sys, threading, time
cuda = ctypes.CDLL("libcuda.so.1")
def must(result):
    assert result == 0, result
device, context = ctypes.c_int(), ctypes.c_void_p()
must(cuda.cuInit(0))
must(cuda.cuDeviceGet(ctypes.byref(device), 0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
must(cuda.cuCtxSetCurrent(context))
batches, (pipe_out, pipe_in) = queue.Queue(), os.pipe()
def load():
    for _ in range(8):
        time.sleep(0.06)
        batches.put(1)
        os.write(pipe_in, b"1")
def wait():
    if sys.argv[1] == "queue":
        batches.get()
    elif sys.argv[1] == "poll":
        select.select([pipe_out], [], [])
        os.read(pipe_out, 1)
    elif sys.argv[1] == "pipe":
        os.read(pipe_out, 1)
    elif sys.argv[1] == "sleep":
        time.sleep(0.06)
    elif sys.argv[1] == "child":
        subprocess.run(["sleep", "0.06"], check=True)
threading.Thread(target=load, daemon=True).start()
for _ in range(8):
    must(cuda.cuCtxSynchronize())
    wait()
must(cuda.cuCtxSynchronize())
"""
TRIES = 5
STEPPED = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_DEVICE_TIME": "off"}


class HostState(PreloadCase):
    def program(self, source):
        return compiled(source, self.folder / "program", "-l:libgpusim.so")

    def gaps(self, columns):
        return query(self.the_trace(), f"SELECT {columns} FROM v_host_gap ORDER BY enter_ns")

    def again(self):
        for trace in self.traces():
            trace.unlink()

    def test_in_stepped_time_the_split_is_exact(self):
        self.traced([self.program(EXACT)], **STEPPED)
        expected = [(70000 + i * 8000, 70000 + i * 1000, i * 7000, None, None, 0) for i in range(20)]
        self.assertEqual(self.gaps("dur_ns, running_ns, blocked_ns, runqueue_ns, class, samples"), expected)

    def test_gaps_are_no_events(self):
        self.traced([self.program(EXACT)], GPUSIM_TRUTH=self.folder / "truth", **STEPPED)
        self.assert_nothing_lost(self.the_trace())
        hooked = {name for name, in query(self.the_trace(), "SELECT name FROM api")}
        counts = box.read_counts(f"{self.folder}/truth.counts")
        called = sum(count.entered for name, count in counts.items() if name in hooked)
        self.assertEqual(ledger(self.the_trace())["produced"], called)
        self.assertEqual(len(self.gaps("1")), 20)

    def test_a_gap_does_not_part_a_launch_from_its_attributes(self):
        self.traced([self.program(LAUNCHES)], **STEPPED)
        rows = query(self.the_trace(), "SELECT cluster_x, grid_x, count(*) FROM v_launch GROUP BY 1, 2")
        self.assertEqual(rows, [(3, 6, 9)])
        self.assertEqual(len(self.gaps("1")), 9)
        self.assert_nothing_lost(self.the_trace())

    def test_in_real_time_the_split_is_what_the_program_measures(self):
        program, errors = self.program(SPLIT), []
        for _ in range(TRIES):
            self.again()
            wall_ns, cpu_ns = map(int, self.traced([program]).stdout.split())
            dur_ns, running_ns = self.gaps("sum(dur_ns), sum(running_ns)")[0]
            errors.append(max(abs(dur_ns / wall_ns - 1), abs(running_ns / cpu_ns - 1),
                              abs((dur_ns - running_ns) / (wall_ns - cpu_ns) - 1)))
            if errors[-1] < 0.05:
                return
        self.fail(f"off by {errors}")

    def test_a_thread_without_a_processor_is_known_to_wait_for_one(self):
        program, shares = self.program(HOGGED), []
        for _ in range(TRIES):
            self.again()
            self.traced([program])
            blocked_ns, runqueue_ns, wrong = self.gaps(
                "sum(blocked_ns), sum(runqueue_ns), sum(runqueue_ns > blocked_ns)")[0]
            self.assertEqual(wrong or 0, 0)
            shares.append((runqueue_ns or 0) / blocked_ns)
            if shares[-1] > 0.5 and ("running",) in self.gaps("DISTINCT class"):
                return
        self.fail(f"known of the waiting: {shares}")

    def assert_mostly(self, how, expected):
        """Most of the gaps that were sampled have that class; and some were."""
        program, seen = self.folder / "loader.py", []
        program.write_text(LOADER, encoding="utf-8")
        for _ in range(TRIES):
            self.again()
            self.traced([sys.executable, program, how])
            classes = [what for what, in self.gaps("class") if what is not None]
            seen.append({what: classes.count(what) for what in classes})
            if classes.count(expected) > max(2, len(classes) / 2):
                return
        self.fail(f"{how}: {seen}")

    def test_waiting_for_a_queue(self):
        self.assert_mostly("queue", "waiting_for_lock")

    def test_waiting_for_a_pipe(self):
        self.assert_mostly("pipe", "reading")

    def test_waiting_for_a_descriptor(self):
        self.assert_mostly("poll", "waiting_for_descriptor")

    def test_sleeping(self):
        self.assert_mostly("sleep", "sleeping")

    def test_waiting_for_a_child(self):
        self.assert_mostly("child", "child")
