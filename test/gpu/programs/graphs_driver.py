"""On the driver API: a graph that is captured and launched so often, and says as a line of JSON how often and
what is in it. It begins so many seconds after its context was made, for that is when CUPTI is opened.

    graphs_driver.py SECONDS [--subscribe before|after]     somebody else takes CUPTI: before the context, or
                                                     when all is over; what it is answered goes to stderr
"""
import argparse
import ctypes
import json
import pathlib
import sys
import time
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_uint64, c_void_p

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "train"))

import cuda  # noqa: E402
import kernels  # noqa: E402
from binding import Library  # noqa: E402

LAUNCHES, FLOATS = 200, 4096
KERNELS = {"first": 10, "second": 20}  # microseconds; the first one runs twice
FUNCTIONS = {
    "cuStreamBeginCapture_v2": [c_void_p, c_int],
    "cuStreamEndCapture": [c_void_p, POINTER(c_void_p)],
    "cuGraphInstantiateWithFlags": [POINTER(c_void_p), c_void_p, c_uint64],
    "cuGraphLaunch": [c_void_p, c_void_p],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
}
RELAXED = 2
CUPTI = ("libcupti.so.13", "libcupti.so.12", "libcupti.so")


class Graphs(Library):
    def __init__(self):
        super().__init__("libcuda.so.1", FUNCTIONS)

    def describe(self, code):
        return str(code)


def subscribed():
    """What a subscriber is answered, a CUptiResult."""
    callback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_uint, c_void_p)(lambda *_: None)
    subscribed.kept = callback
    for name in CUPTI:
        try:
            return ctypes.CDLL(name).cuptiSubscribe(byref(c_void_p()), callback, None)
        except OSError:
            pass
    return "no CUPTI"


def captured(graphs, ready, stream, here, there, device):
    graph, instance = c_void_p(), c_void_p()
    graphs.cuStreamBeginCapture_v2(stream, RELAXED)
    for name in ("first", "second", "first"):
        ready.launch(name, stream)
    device.driver.cuMemcpyDtoDAsync_v2(there, here, FLOATS * 4, stream)
    device.fill(here, 1.0, FLOATS, stream)
    graphs.cuStreamEndCapture(stream, byref(graph))
    graphs.cuGraphInstantiateWithFlags(byref(instance), graph, 0)
    return instance


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float)
    parser.add_argument("--subscribe", choices=("before", "after"))
    asked = parser.parse_args()
    driver, graphs = cuda.Driver(), Graphs()
    driver.cuInit(0)
    if asked.subscribe == "before":
        print(subscribed(), file=sys.stderr)
    device = cuda.Device(driver, 0)
    stream = device.stream()
    ready = kernels.Kernels(device, KERNELS)
    here, there = device.floats(FLOATS), device.floats(FLOATS)
    ready.launch("first", stream)
    driver.cuStreamSynchronize(stream)
    time.sleep(asked.seconds)
    instance = captured(graphs, ready, stream, here, there, device)
    for _ in range(LAUNCHES):
        graphs.cuGraphLaunch(instance, stream)
        driver.cuStreamSynchronize(stream)
    if asked.subscribe == "after":
        print(subscribed(), file=sys.stderr)
    time.sleep(asked.seconds)  # names live as long as their modules: by then records have been read
    device.close()
    print(json.dumps({"launches": LAUNCHES, "nodes": {"first__10us": 2, "second__20us": 1, "copy": 1,
                                                      "memset": 1}}))


if __name__ == "__main__":
    main()
