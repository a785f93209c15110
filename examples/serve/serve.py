#!/usr/bin/env python3
"""A language model's server on every GPU, in plain Python on the CUDA driver and NCCL. See README.md here."""
import argparse
import ctypes
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "train"))

import job  # noqa: E402
import nccl  # noqa: E402
from binding import ApiError  # noqa: E402
from cuda import Device, Driver  # noqa: E402
from engine import BATCHES, Engine  # noqa: E402
from host import Host  # noqa: E402
from server import Server  # noqa: E402
from traffic import arrivals  # noqa: E402


def parse_options():
    parser = argparse.ArgumentParser(description="Serves made-up requests; the time they take is real.")
    parser.add_argument("--ranks", type=int, help="GPUs of one model, tensor-parallel (default: all)")
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--rate", type=float, default=25, help="requests per second; 0: all at once (25)")
    parser.add_argument("--answer", type=int, default=60, help="tokens of an answer on average (60)")
    parser.add_argument("--batch", type=int, default=16, help="sequences under way at once, at most (16)")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--eager", action="store_true", help="capture no graphs")
    options = parser.parse_args()
    if min(options.requests, options.answer, options.layers) < 1 or not 1 <= options.batch <= BATCHES[-1]:
        parser.error(f"--requests, --answer and --layers are 1 or more, --batch 1 to {BATCHES[-1]}")
    return options


def main():
    options = parse_options()
    try:
        if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
            job.follow_launcher()
            return serve(options, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
        ranks = options.ranks or Driver().device_count()
        return job.run(__file__, sys.argv[1:], max(1, ranks))
    except ApiError as error:
        sys.stderr.write(f"serve.py: {error}\n")
        return 1


def _idle(driver):
    """Waits for the next request: in stepped time the box is told, elsewhere time passes."""
    if os.environ.get("GPUSIM_CLOCK") == "stepped":
        return lambda length_ns: driver.handle.gpusim_block_ns(ctypes.c_uint64(max(1, length_ns)))
    return lambda length_ns: time.sleep(max(0, length_ns) / 1e9)


def serve(options, rank, world_size):
    driver = Driver()
    if driver.device_count() == 0:
        raise ApiError("there is no GPU")
    device = Device(driver, int(os.environ.get("LOCAL_RANK", rank)) % driver.device_count())
    communicator = None
    if world_size > 1:
        communicator = nccl.Communicator(rank, world_size, os.environ["TRAIN_ID_FILE"])
    engine = Engine(device, communicator, options.layers, not options.eager)
    # Ranks decide alike only where all requests are there: a clock of its own would tell each another time.
    rate = options.rate if world_size == 1 else 0
    requests = arrivals(options.requests, rate, options.answer, options.seed)
    server = Server(engine, Host(driver), _idle(driver), requests, options.batch)
    took_ns = server.run()
    if rank == 0:
        _print_result(server, device.name(), world_size, took_ns)
    driver.cuCtxSynchronize()
    if communicator:
        communicator.close()
    device.close()
    return 0


def _print_result(server, gpu_name, world_size, took_ns):
    tokens = sum(request.made for request in server.done)
    latencies = sorted(request.ended_ns - request.arrives_ns for request in server.done)
    print(f"{len(server.done)} requests in {took_ns / 1e9:.6f} s on {world_size} x {gpu_name}: "
          f"{tokens / took_ns * 1e9:.0f} tokens/s, {server.iterations['prefill']} prefills, "
          f"{server.iterations['decode']} decodes", file=sys.stderr)
    print(f"latency p50 {latencies[len(latencies) // 2] / 1e6:.1f} ms, "
          f"longest {latencies[-1] / 1e6:.1f} ms", file=sys.stderr)
    print(f"{len(server.done)} requests, {tokens} tokens")


if __name__ == "__main__":
    sys.exit(main())
