"""NCCL with one rank, through torch.distributed: its kernels are launched as everybody's are."""
from frameworks import check_work
from machine import Row, demand

ORDER, LIMIT_S, TOGETHER = 25, 120, True
LEAST = 17  # AllReduces: one to be ready, eight each of the two times


def check(machine):
    yield from check_work(machine, "nccl_alone", "NCCL with one rank", collectives)


def collectives(trace):
    seen = trace.collectives
    demand(seen.get("ncclAllReduce", 0) >= LEAST, "collectives of torch.distributed:", seen)
    return Row("collectives of torch.distributed", ", ".join(f"{name} {seen[name]}" for name in sorted(seen)))
