"""A Python program with workers: host.py START_METHOD WAY [NUMBER or WORD]. Forked workers do what workers of
a data loader do, without the GPU; spawned ones use it themselves. It prints what it has done."""
import ctypes
import faulthandler
import functools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time


class Gpu:
    """A context on the first device, and memory to copy to."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.context, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        self.must("cuInit", 0)
        self.must("cuCtxCreate_v4", ctypes.byref(self.context), None, 0, 0)
        self.must("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(4096))

    def must(self, name, *arguments):
        error = getattr(self.cuda, name)(*arguments)
        if error:
            raise RuntimeError(f"{name}: {error}")

    def copy(self, times):
        source = ctypes.create_string_buffer(64)
        for _ in range(times):
            self.must("cuMemcpyHtoD_v2", self.memory, source, ctypes.c_size_t(64))


def square(number):
    return number * number


@functools.lru_cache(maxsize=None)
def gpu_of_this_worker():
    """One context for all that it is given: a device has room for some dozens."""
    return Gpu()


def copy_and_square(number):
    gpu_of_this_worker().copy(number)
    return number * number


def job(context):
    """What a worker is given."""
    return square if context.get_start_method() == "fork" else copy_and_square


# --- ways ---------------------------------------------------------------------------------------------------

def children(context, number):
    """Workers that come and go while this process copies."""
    gpu = Gpu()
    for first in range(0, int(number), 2):
        with context.Pool(2) as pool:
            work = pool.map_async(job(context), [first, first + 1])
            gpu.copy(50)
            print(work.get(60))


def handlers(context, number):
    """Handlers of the program around each fork, which call the driver."""
    gpu, order = Gpu(), []

    def note(letter):
        order.append(letter)
        gpu.cuda.cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p()))
    os.register_at_fork(before=lambda: note("b"), after_in_parent=lambda: note("p"),
                        after_in_child=lambda: note("c"))
    with context.Pool(1) as pool:
        for n in range(int(number)):
            print(pool.apply(job(context), (n,)))
            gpu.copy(10)
            child = os.fork()
            if child == 0:
                os._exit(order.count("c"))
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print("".join(order[:3]))


def programs(context, number):
    """Other programs beside the workers: by subprocess, which takes vfork or posix_spawn, and by os."""
    gpu = Gpu()
    with context.Pool(1) as pool:
        for n in range(int(number)):
            gpu.copy(10)
            print(subprocess.run(["echo", "one"], stdout=subprocess.PIPE, check=True).stdout)
            print(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1]))
            print(pool.apply(job(context), (n,)))


def server(_, number):
    """Workers of a fork server, which use the GPU."""
    Gpu().copy(10)
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        print(pool.map(copy_and_square, range(int(number)), chunksize=1))


def replaced(context, number):
    """A worker that becomes another program, and then this one."""
    with context.Pool(1) as pool:
        print(pool.apply(job(context), (3,)))
    worker = context.Process(target=os.execv, args=(sys.executable, [sys.executable, *here("end", "return")]))
    worker.start()
    worker.join()
    print("worker", worker.exitcode)
    Gpu().copy(10)
    if int(number) > 0:
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, *here("replaced", str(int(number) - 1))])


def here(*words):
    return ["-B", *sys.argv[:2], *words]


def threads(context, number):
    """Threads that copy and go, while workers work."""
    gpu = Gpu()

    def copy_seven():
        gpu.must("cuCtxSetCurrent", gpu.context)
        gpu.copy(7)
    with context.Pool(1) as pool:
        work = pool.map_async(job(context), range(3))
        for _ in range(int(number)):
            thread = threading.Thread(target=copy_seven)
            thread.start()
            thread.join()
        print(work.get(60))


def alarms(context, number):
    """A handler that copies, in the middle of copies."""
    gpu, times = Gpu(), []

    def copy_more(_number, _frame):
        if len(times) < int(number):
            times.append(1)
            gpu.copy(1)
    signal.signal(signal.SIGALRM, copy_more)
    with context.Pool(1) as pool:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while len(times) < int(number):
            gpu.cuda.cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p()))
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(pool.apply(job(context), (3,)))
    print(len(times))


def interrupted(context, _):
    """KeyboardInterrupt, and a handler of a launcher's, in a program that has a trace."""
    gpu = Gpu()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        faulthandler.enable(nowhere)
        faulthandler.register(signal.SIGUSR1, nowhere)
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.signal(signal.SIGTERM, lambda number, _: print("told to end by", number))
        os.kill(os.getpid(), signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # forked workers would have it, too
        with context.Pool(1) as pool:
            print(pool.apply(job(context), (3,)))
        try:
            gpu.copy(100)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        except KeyboardInterrupt:
            print("interrupted")
        gpu.copy(100)
        faulthandler.disable()


def late(_, __):
    """Calls in what the interpreter runs at its end."""
    import atexit
    gpu = Gpu()
    gpu.copy(100)
    atexit.register(lambda: print("late", gpu.cuda.cuMemFree_v2(gpu.memory)))


def end(context, how):
    """Copies, has a worker work, and ends in that way; a worker that is alive is of that way, too."""
    gpu = Gpu()
    gpu.copy(100)
    worker = context.Process(target=end_of_worker, args=(how,))
    worker.start()
    worker.join()
    print("worker", worker.exitcode, flush=True)
    ENDS[how]()


def end_of_worker(how):
    if multiprocessing.get_start_method(allow_none=True) != "fork":
        copy_and_square(10)
    ENDS[how]()


def fail():
    raise ValueError("an error of the program's")


def exit_in_thread():
    thread = threading.Thread(target=lambda: os._exit(6))
    thread.start()
    thread.join()


ENDS = {"return": lambda: None, "exit": lambda: sys.exit(3), "error": fail, "_exit": lambda: os._exit(5),
        "abort": os.abort, "exit_in_thread": exit_in_thread,
        **{number.name: lambda number=number: os.kill(os.getpid(), number)
           for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV)}}
WAYS = {way.__name__: way for way in (children, handlers, programs, server, replaced, threads, alarms,
                                      interrupted, late, end)}


def main():
    context = multiprocessing.get_context(sys.argv[1])
    if sys.argv[1] == "fork":
        multiprocessing.set_start_method("fork")
    WAYS[sys.argv[2]](context, sys.argv[3] if len(sys.argv) > 3 else "0")


if __name__ == "__main__":
    main()
