"""torch.distributed with one rank: NCCL, whatever it does where nobody else is; on the CPU gloo."""
import atexit
import os
import tempfile

from missing import Missing, digest, torch_on, waited

TIMES = 8


def prepared(device):
    torch = torch_on(device)
    distributed = torch.distributed
    backend = "nccl" if device == "cuda" else "gloo"
    if not distributed.is_available() or not getattr(distributed, f"is_{backend}_available")():
        raise Missing(f"PyTorch without {backend}")
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")  # a machine may have no network at all
    folder = tempfile.TemporaryDirectory(prefix="gpushim-gpu-")
    atexit.register(folder.cleanup)
    store = distributed.FileStore(os.path.join(folder.name, "store"), 1)
    try:
        distributed.init_process_group(backend, store=store, rank=0, world_size=1)
        distributed.all_reduce(torch.ones(1, device=device))
        atexit.register(distributed.destroy_process_group)  # before the store goes
        waited(torch, device)
    except Exception as why:
        raise Missing(f"{backend} does not come up: {' '.join(str(why).split())[:160]}") from why
    start = torch.randn(100_000, device=device)

    def work():
        data = start.clone()
        for _ in range(TIMES):
            distributed.all_reduce(data)
            data = data * 0.5
        gathered = [torch.empty_like(data)]
        distributed.all_gather(gathered, data)
        distributed.broadcast(data, 0)
        waited(torch, device)
        return [digest(data), digest(gathered[0])], {}

    return work
