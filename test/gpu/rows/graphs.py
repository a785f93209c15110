"""CUDA graphs of PyTorch: torch.cuda.graph, captured before and while CUPTI looks, replayed."""
from frameworks import check_work

ORDER, LIMIT_S, TOGETHER = 17, 120, True


def check(machine):
    yield from check_work(machine, "graphs", "torch.cuda.graph")
