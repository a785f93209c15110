"""cuDNN, as PyTorch uses it: convolutions forward and backward, batch norm, pooling."""
from missing import digest, torch_on, waited

TIMES = 3


def prepared(device):
    torch = torch_on(device)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 32, 3, padding=1, groups=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(32, 10)).to(device)
    model.eval()  # so that running means do not make the second time another
    pictures, target = torch.randn(8, 3, 32, 32, device=device), torch.arange(8, device=device)

    def work():
        for _ in range(TIMES):
            model.zero_grad()
            loss = nn.functional.cross_entropy(model(pictures), target)
            loss.backward()
        waited(torch, device)
        return [digest(loss.detach())] + [digest(value.grad) for value in model.parameters()], {}

    return work
