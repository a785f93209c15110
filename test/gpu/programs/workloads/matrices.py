"""PyTorch's matrix products: cuBLAS, cuBLASLt (a product with its bias and activation in one), batched,
in half precision; elementwise work, reductions, copies in all directions and memsets beside them."""
from missing import digest, torch_on, waited

TIMES = 5


def prepared(device):
    torch = torch_on(device)
    weight, bias = torch.randn(256, 512, device=device), torch.randn(512, device=device)
    data, batch = torch.randn(64, 256, device=device), torch.randn(8, 64, 256, device=device)
    half = torch.float16 if device == "cuda" else torch.bfloat16
    on_host = torch.randn(1000, 1000)
    pinned = on_host.pin_memory() if device == "cuda" else on_host.clone()

    def work():
        parts = []
        for _ in range(TIMES):
            parts.append(data @ weight)
            parts.append(torch.nn.functional.linear(data, weight.t(), bias))
            parts.append(torch._addmm_activation(bias, data, weight))
            parts.append(torch.bmm(batch, weight.expand(8, -1, -1)).sum(0))
            parts.append((data.to(half) @ weight.to(half)).float())
        uploaded = on_host.to(device) + pinned.to(device, non_blocking=True)
        parts += [uploaded, uploaded.clone(), torch.zeros_like(uploaded), uploaded.sort().values]
        waited(torch, device)
        down = [digest(part.cpu()) for part in parts]
        return down, {}

    return work
