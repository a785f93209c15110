#!/usr/bin/env python3
"""Writes a Kineto trace as PyTorch 2 does, of about so many megabytes: kineto_file.py FILE MEGABYTES"""
import sys

HEAD = """{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 84987740160}],
 "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
 "displayTimeUnit": "ms", "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [\n"""
LAUNCH = """  {
    "ph": "X", "cat": "cpu_op", "name": "aten::%(op)s", "pid": 4711, "tid": 4711,
    "ts": %(ts)d.125, "dur": 19.250,
    "args": {
      "External id": %(id)d,"Record function id": 0, "Sequence number": %(id)d, "Fwd thread id": 0,
      "Ev Idx": %(id)d
    }
  },
  {
    "ph": "X", "cat": "kernel", "pid": 0, "tid": 7,
    "name": "void at::native::%(op)s_kernel<4, at::native::Functor<float>, Array<char*, 2> >(int)",
    "ts": %(run)d.457, "dur": 9.984,
    "args": {
      "External id": %(id)d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %(id)d,
      "registers per thread": 32, "shared memory": 0, "blocks per SM": 9.481481, "warps per SM": 37.925926,
      "grid": [1024, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 59
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4711, "tid": 4711,
    "ts": %(ts)d.514, "dur": 5.733,
    "args": {
      "External id": %(id)d, "cbid": 211, "correlation": %(id)d
    }
  },
  {
    "ph": "s", "id": %(id)d, "pid": 4711, "tid": 4711, "ts": %(ts)d.514,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "f", "id": %(id)d, "pid": 0, "tid": 7, "ts": %(run)d.457,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
"""
OPERATIONS = ("add", "mul", "copy", "gelu", "softmax", "layer_norm", "embedding", "fill")


def main():
    path, megabytes = sys.argv[1], int(sys.argv[2])
    with open(path, "w", encoding="ascii") as file:
        written, number = file.write(HEAD), 0
        while written < megabytes << 20:
            number += 1
            written += file.write(LAUNCH % {"op": OPERATIONS[number % len(OPERATIONS)], "id": number,
                                            "ts": number * 20, "run": number * 20 + 11})
        file.write('  {"ph": "M", "name": "process_name", "pid": 4711, "tid": 0, "ts": 1,\n'
                   '    "args": {"name": "python"}}\n]}\n')


if __name__ == "__main__":
    main()
