"""A run as a row of fleet_run: by model, machine and number of ranks it is compared with other runs."""
import collections
import pathlib
import statistics


def model_of(rank):
    """The tag that names it, else the program."""
    tag = dict(pair.split("=", 1) for pair in (rank["tag"] or "").split(",") if "=" in pair)
    return tag.get("model") or rank["tag"] or pathlib.Path(rank["executable"] or "unknown").name


def gpus_of(ranks):
    """{host: its GPUs}; a GPU that several ranks use is one."""
    hosts = collections.defaultdict(set)
    for rank in ranks:
        hosts[rank["host"]].update((rank["gpus"] or "").split())
    return hosts


def machine_of(ranks):
    """How many GPUs the host has that has most, which a rank that was not seen elsewhere does not change, and
    of which kinds they are."""
    most = max(len(gpus) for gpus in gpus_of(ranks).values())
    names = sorted({rank["gpu_name"] for rank in ranks if rank["gpu_name"]})
    return f"{most} x {' + '.join(names) or 'no GPU'}"


def of(run, price):
    """It started when the middle one of its ranks did, so one clock that is off moves nothing."""
    ranks = [rank for entry in run.entries for rank in entry["ranks"]]
    prices = {rank["price"] for rank in ranks}
    price = price if price is not None else prices.pop() if len(prices) == 1 else None
    return (model_of(ranks[0]), machine_of(ranks), sum(map(len, gpus_of(ranks).values())), len(run.entries),
            statistics.median_low(rank["started_ns"] for rank in ranks), price, run.ranks_seen,
            run.ranks_expected, run.day, run.name)
