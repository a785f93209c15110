"""examples/train, on two GPUs where there are: the loss is the same to the bit, the collectives are seen."""
import re
import sys

import nccl_library
from machine import TRAIN, Row, demand, same

ORDER, LIMIT_S, TOGETHER = 30, 60, True
OPTIONS = "--steps 20 --loss-every 10 --params 400000 --bucket-mb 0.5 --input-mb 0.5".split()


def check(machine):
    ranks = min(2, len(machine.gpus))
    command = [sys.executable, "-B", TRAIN / "train.py", "--ranks", str(ranks), *OPTIONS]
    done, traces = machine.same_with_and_without(command, **nccl_library.variables(machine))
    loss = re.search(r"^loss (0x\S+)", done.stdout, re.MULTILINE)
    demand(loss, "no loss was printed")
    yield Row("the loss of train.py", f"{loss.group(1)}, the same without the shim")
    same(len(traces), ranks, "traces")
    for trace in traces:
        trace.demand_whole()
    collectives = [trace.collectives for trace in traces]
    demand(collectives[0].get("ncclAllReduce", 0) >= 20, "collectives:", collectives[0])
    same(collectives, collectives[:1] * ranks, "collectives of the ranks")
    count = collectives[0]["ncclAllReduce"]
    yield Row("collectives of train.py", f"{count} AllReduce in each of {ranks} ranks")
