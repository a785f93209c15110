"""CUDA programs under the preload do what they do without it: the same output, loss and exit code; and every
launch is in the trace."""
import sys

import box
import preload

TRAIN = box.ROOT / "examples" / "train" / "train.py"
STEPS = ["--steps", "12", "--loss-every", "5", "--params", "60000", "--bucket-mb", "0.1", "--input-mb", "0.1"]

THREADS, LAUNCHES = 8, 3000
LAUNCHING_THREADS = f"""
#include "one_gpu.h"
#include <pthread.h>
static CUfunction function[{THREADS}];
static void* launch(void* number) {{
    MUST(cuCtxSetCurrent(context));
    const CUstream stream = new_stream();
    for (int i = 0; i < {LAUNCHES}; ++i) launch_one(function[(size_t)number], stream);
    MUST(cuStreamSynchronize(stream));
    return 0;
}}
int main(void) {{
    pthread_t thread[{THREADS}];
    open_gpu();
    for (size_t i = 0; i < {THREADS}; ++i) {{
        char name[32];
        snprintf(name, sizeof name, "thread%zu__1us", i);
        function[i] = kernel_of(name);
    }}
    for (size_t i = 0; i < {THREADS}; ++i) pthread_create(&thread[i], 0, launch, (void*)i);
    for (size_t i = 0; i < {THREADS}; ++i) pthread_join(thread[i], 0);
    return puts("done"), 0;
}}
"""

# A worker process per way of starting one; each uses the GPU on its own, as the parent does. Nothing is
# printed while a pool lives: its own thread forks new workers, which would print a full buffer once more.
WORKERS = f"""
import ctypes, multiprocessing, os, sys
sys.path.insert(0, {str(TRAIN.parent)!r})

def use_gpu(number):
    import cuda, kernels
    driver = cuda.Driver()
    driver.cuInit(0)
    device = cuda.Device(driver, 0)
    function = ctypes.c_void_p()
    driver.cuModuleGetFunction(ctypes.byref(function), device.module("an image"), b"worker__5us")
    for _ in range(100):
        driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
    driver.cuCtxSynchronize()
    device.close()
    return number * number

if __name__ == "__main__":
    for way in sys.argv[1].split():
        with multiprocessing.get_context(way).Pool(2, maxtasksperchild=1) as pool:
            squares = pool.map(use_gpu, range(4), 1)
            pool.close()
            pool.join()
        print(way, squares)
    if "parent" in sys.argv[2:]:
        print(use_gpu(7))
        for way in sys.argv[1].split():  # after the parent has used it, a fork may do everything but that
            with multiprocessing.get_context(way).Pool(2) as pool:
                distances = pool.map(abs, range(-100, 0), 1)
            print(way, distances[:3])
    print("all", flush=True)
"""

ENDS = """
import ctypes, os, signal, sys
sys.path.insert(0, {folder!r})
import cuda
driver = cuda.Driver()
driver.cuInit(0)
device = cuda.Device(driver, 0)
function = ctypes.c_void_p()
driver.cuModuleGetFunction(ctypes.byref(function), device.module("an image"), b"ends__5us")
for _ in range(50):
    driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
driver.cuCtxSynchronize()
print("launched", flush=True)
{end}
"""
WAYS_TO_END = {
    "return": "pass",
    "exit 3": "sys.exit(3)",
    "_exit": "os._exit(4)",
    "an exception": "raise KeyError('x')",
    "abort": "os.abort()",
    "SIGINT": "os.kill(os.getpid(), signal.SIGINT)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGSEGV": "ctypes.string_at(0)",
    "a handler": "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5))\n"
                 "os.kill(os.getpid(), signal.SIGUSR1)",
    "a pipe without a reader": "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
                               "r, w = os.pipe(); os.close(r); os.write(w, b'x')",
    "exec": "os.execv('/bin/sh', ['sh', '-c', 'echo replaced; exit 6'])",
    "a thread that runs on": "import threading, time\n"
                             "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
}


class SameResults(preload.PreloadCase):
    def both(self, command, knobs):
        """The run under the preload, after it was compared with the one without."""
        without = box.run(command, knobs, cwd=self.folder)
        under = box.run(command, {**preload.variables(self.folder), **knobs}, cwd=self.folder)
        self.assertEqual((under.returncode, under.stdout, under.stderr),
                         (without.returncode, without.stdout, without.stderr))
        return under

    def check_launches(self, trace, expected):
        found = preload.launches(trace)
        self.assertEqual({name: found.get(name) for name in expected}, expected)
        terms = preload.ledger(trace)
        self.assertEqual((terms["dropped"], terms["unfinished"], terms["unknown"]), (0, 0, 0), terms)

    def test_eight_launching_threads(self):
        program = preload.compiled(LAUNCHING_THREADS, self.folder / "threads")
        self.both([program], preload.QUICK)
        self.check_launches(self.the_trace(), {f"thread{i}__1us": LAUNCHES for i in range(THREADS)})
        threads = preload.query(self.the_trace(), """
            SELECT count(DISTINCT thread_id), count(DISTINCT stream_id) FROM v_launch GROUP BY kernel""")
        self.assertEqual(threads, [(1, 1)] * THREADS)

    def test_two_ranks_on_two_devices(self):
        truth = self.folder / "truth"
        knobs = {"GPUSIM_DEVICES": 2, "GPUSIM_CLOCK": "stepped"}
        command = [sys.executable, "-B", TRAIN, "--ranks", "2", *STEPS]
        # Events of ours take their time of the program's; nothing else does on this clock.
        self.both(command, {"GPUSHIM_DEVICE_TIME": "off", **knobs})
        for trace in self.traces():
            trace.unlink()
        self.traced(command, stderr=None, GPUSIM_TRUTH=f"{truth}.%r.%p", **knobs)
        self.assertEqual(len(self.traces()), 2)
        for trace in self.traces():
            pid, rank = preload.query(trace, "SELECT pid, rank FROM process")[0]
            self.check_launches(trace, {name: count for name, count in
                                        preload.true_launches(f"{truth}.{rank}.{pid}").items()
                                        if not name.startswith("nccl")})
        devices = [preload.query(trace, "SELECT DISTINCT device_id FROM v_launch") for trace in self.traces()]
        self.assertEqual(sorted(devices), [[(0,)], [(1,)]])

    def test_the_loss_is_the_same_in_real_time(self):
        command = [sys.executable, "-B", TRAIN, "--ranks", "2", *STEPS]
        without = box.run(command, {"GPUSIM_DEVICES": 2})
        under = self.traced(command, stderr=None, GPUSIM_DEVICES=2)
        self.assertRegex(under.stdout, r"(?m)^loss 0x")
        self.assertEqual(under.stdout, without.stdout)

    def test_worker_processes(self):
        program = self.folder / "workers.py"
        program.write_text(WORKERS)
        self.both([sys.executable, "-B", program, "fork spawn forkserver"], preload.QUICK)
        self.assertEqual(len(self.traces()), 12)
        self.recover()
        for trace in self.traces():
            self.check_launches(trace, {"worker__5us": 100})

    def test_worker_processes_of_a_traced_one(self):
        program = self.folder / "workers.py"
        program.write_text(WORKERS)
        self.both([sys.executable, "-B", program, "fork spawn", "parent"], preload.QUICK)
        self.assertEqual(len(self.traces()), 9)
        self.recover()
        for trace in self.traces():
            self.check_launches(trace, {"worker__5us": 100})

    def test_all_ways_to_end(self):
        for name, end in WAYS_TO_END.items():
            with self.subTest(end=name):
                program = ENDS.format(folder=str(TRAIN.parent), end=end)
                for trace in self.traces():
                    trace.unlink()
                self.both([sys.executable, "-B", "-c", program], preload.QUICK)
                self.recover()
                self.check_launches(self.the_trace(), {"ends__5us": 50})
