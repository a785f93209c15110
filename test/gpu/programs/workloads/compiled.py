"""torch.compile(mode="reduce-overhead"): Triton's kernels inside of CUDA graphs that PyTorch makes itself."""
from missing import Missing, digest, torch_on, waited

TIMES, WARM = 10, 4  # it compiles, warms up and captures in the first calls


def prepared(device):
    torch = torch_on(device)
    weight = torch.randn(128, 128, device=device) * 0.05
    data = torch.randn(64, 128, device=device)

    def body(data):
        return torch.tanh(data @ weight) * 0.5 + torch.sigmoid(data)

    quick = torch.compile(body, mode="reduce-overhead")
    try:
        for _ in range(WARM):
            quick(data).clone()
    except Exception as why:  # no compiler, no Triton, ...
        raise Missing(f"torch.compile: {' '.join(str(why).split())[:160]}") from why

    def work():
        now = data
        for _ in range(TIMES):
            now = quick(now).clone()
        waited(torch, device)
        return [digest(now)], {}

    return work
