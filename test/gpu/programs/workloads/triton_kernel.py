"""A Triton kernel; on the CPU by its interpreter."""
import os

from missing import Missing, digest, imported, torch_on, waited

TIMES, COUNT, BLOCK = 25, 1 << 14, 256


def prepared(device):
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # before it is loaded
    torch, kernel = torch_on(device), imported("triton_source").scaled_by_triton
    data = torch.randn(COUNT, device=device)

    def launch(out):
        kernel[(COUNT // BLOCK,)](data, out, COUNT, BLOCK=BLOCK)

    try:
        launch(torch.empty_like(data))
    except Exception as why:  # no compiler for its launcher, a version that does not know this GPU, ...
        raise Missing(f"Triton: {' '.join(str(why).split())[:160]}") from why

    def work():
        out = torch.zeros_like(data)
        for _ in range(TIMES):
            launch(out)
        waited(torch, device)
        return [digest(out)], {"scaled_by_triton": TIMES} if device == "cuda" else {}

    return work
