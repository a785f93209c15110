"""Training loops with one thing wrong each, on the driver API in stepped time.

    workloads.py NAME STEPS

In each step a batch of 4 MB is copied (160 us at 25 GB/s), ten layers of 100 us run, an optimizer's kernel,
and the host waits for the end; without what is wrong, the GPU is idle only for a launch's latency. What each
adds to a step, and which cause that is, stands in test_answer.py.
"""
import ctypes
import pathlib
import sys
from ctypes import byref, c_size_t, c_uint64, c_void_p

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "examples" / "cases"))
from gpu import MS, advance, block, call, mark, open_gpus, train_step as step  # noqa: E402

BATCH = 4_000_000
WRONG_NS = 3 * MS


def healthy(gpus, _):
    step(gpus[0])


def input_cpu(gpus, _):
    step(gpus[0], before=lambda: advance(WRONG_NS))


def input_wait(gpus, _):
    step(gpus[0], before=lambda: block(WRONG_NS))


def host_cpu(gpus, _):
    step(gpus[0], between=lambda: advance(WRONG_NS))


def host_blocked(gpus, _):
    step(gpus[0], between=lambda: block(WRONG_NS))


def launch_bound(gpus, _):
    gpus[0].copy_in()
    for number in range(200):
        gpus[0].launch(f"tiny_{number % 8}__2us")
    gpus[0].launch("adam_update__50us")
    gpus[0].wait()


def one_by_one(gpus, _):
    gpus[0].copy_in()
    for number in range(10):
        gpus[0].wait()
        gpus[0].launch(f"alone_{number}__20us")
    gpus[0].wait()


def launching_other_gpu(gpus, _):
    def others():
        gpus[1].use()
        for number in range(750):
            gpus[1].launch(f"other_{number % 8}__2us")
        gpus[0].use()
    step(gpus[0], between=others)


def sync(gpus, _):
    def wait_for_callback():
        call("cuLaunchHostFunc", gpus[0].stream, _work_in_callback, None)
        gpus[0].wait()
    step(gpus[0], between=wait_for_callback)


def sync_other_gpu(gpus, _):
    def other():
        gpus[1].use()
        gpus[1].launch(f"other__{WRONG_NS}ns")
        gpus[1].wait()
        gpus[0].use()
    step(gpus[0], between=other)


def copy_staging(gpus, _):
    def other():
        gpus[1].use()
        for _ in range(4):
            gpus[1].copy_in(source=gpus[1].pageable)
        gpus[0].use()
    step(gpus[0], between=other)


def alloc_or_load(gpus, _):
    def allocate():
        memory = c_uint64()
        for _ in range(1000):
            call("cuMemAlloc_v2", byref(memory), c_size_t(4096))
            call("cuMemFree_v2", memory)
    step(gpus[0], between=allocate)


def wait_other_gpu(gpus, made):
    def other():
        gpus[1].use()
        gpus[1].launch(f"other__{WRONG_NS}ns")
        call("cuEventRecord", made["event"], gpus[1].stream)
        gpus[0].use()
        call("cuStreamWaitEvent", gpus[0].stream, made["event"], 0)
    step(gpus[0], between=other)


CALLBACK = ctypes.CFUNCTYPE(None, c_void_p)


@CALLBACK
def _work_in_callback(_):
    advance(WRONG_NS)


def wait_host_callback(gpus, _):
    step(gpus[0], between=lambda: call("cuLaunchHostFunc", gpus[0].stream, _work_in_callback, None))


def graph(gpus, made):
    if "exec" not in made:
        made["exec"], captured = c_void_p(), c_void_p()
        call("cuStreamBeginCapture_v2", gpus[0].stream, 0)
        for node in range(100):
            gpus[0].launch(f"node_{node % 4}__10us")
        call("cuStreamEndCapture", gpus[0].stream, byref(captured))
        call("cuGraphInstantiateWithFlags", byref(made["exec"]), captured, c_uint64(0))
    call("cuGraphLaunch", made["exec"], gpus[0].stream)
    gpus[0].wait()


def main():
    name, steps = sys.argv[1], int(sys.argv[2])
    gpus, made = open_gpus(BATCH), {}
    if len(gpus) > 1:
        gpus[1].use()
        made["event"] = gpus[1].make_event()
        gpus[0].use()
    work = globals()[name]
    for _ in range(steps):
        mark()
        work(gpus, made)
    mark()
    for gpu in gpus:
        gpu.use()
        call("cuCtxSynchronize")


if __name__ == "__main__":
    main()
