"""NCCL with one rank, through torch.distributed: its kernels are launched as everybody's are."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 22, 60, True


def check(machine):
    yield from check_work(machine, "nccl_alone", "NCCL with one rank")
