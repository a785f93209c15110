"""What steps are timed of: each a function of (torch, device) that gives a function which is one step. On
a CPU they are as small as they can be: to see that they run."""
from torch import nn

CHOICES = {}
LAUNCHES = 200  # of tiny kernels in a step


def workload(function):
    CHOICES[function.__name__] = function
    return function


class Block(nn.Module):
    """Of a ResNet: two convolutions of 3 x 3, or (`deep`) one of them between two of 1 x 1."""

    def __init__(self, ins, width, stride, deep):
        super().__init__()
        outs = 4 * width if deep else width
        shapes = [(ins, width, 1), (width, width, 3), (width, outs, 1)] if deep else \
            [(ins, width, 3), (width, outs, 3)]
        strides = [1, stride, 1] if deep else [stride, 1]
        layers = []
        for (i, o, size), step in zip(shapes, strides):
            layers += [nn.Conv2d(i, o, size, step, size // 2, bias=False), nn.BatchNorm2d(o), nn.ReLU(True)]
        self.path = nn.Sequential(*layers[:-1])
        self.short = nn.Identity()
        if stride != 1 or ins != outs:
            self.short = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))
        self.last = nn.ReLU(True)

    def forward(self, data):
        return self.last(self.path(data) + self.short(data))


def resnet(counts, deep):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    ins = 64
    for stage, count in enumerate(counts):
        width = 64 << stage
        for index in range(count):
            layers.append(Block(ins, width, 2 if stage and not index else 1, deep))
            ins = 4 * width if deep else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(ins, 1000))


def trained(torch, model, device, make_input, classes):
    """A step with an input from pinned memory, forward, backward and SGD with momentum."""
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    data = make_input()
    target = torch.randint(classes, data.shape[:1])
    if device == "cuda":
        data, target = data.pin_memory(), target.pin_memory()

    def step():
        inputs, wanted = (part.to(device, non_blocking=True) for part in (data, target))
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(inputs), wanted)
        loss.backward()
        optimizer.step()
    return step


@workload
def resnet18(torch, device):
    images = (64, 3, 224, 224) if device == "cuda" else (2, 3, 16, 16)
    return trained(torch, resnet((2, 2, 2, 2), False), device, lambda: torch.randn(images), 1000)


@workload
def resnet50(torch, device):
    images = (64, 3, 224, 224) if device == "cuda" else (2, 3, 16, 16)
    return trained(torch, resnet((3, 4, 6, 3), True), device, lambda: torch.randn(images), 1000)


class Transformer(nn.Module):
    def __init__(self, words, width, layers, classes):
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.last = nn.Linear(width, classes)

    def forward(self, tokens):
        return self.last(self.layers(self.words(tokens)).mean(1))


@workload
def transformer(torch, device):
    tokens, width, layers = ((16, 256), 512, 6) if device == "cuda" else ((2, 8), 32, 1)
    return trained(torch, Transformer(1000, width, layers, 10), device,
                   lambda: torch.randint(1000, tokens), 10)


@workload
def eager(torch, device):
    """Many tiny kernels: the host cannot keep up."""
    data = torch.ones(256, device=device)

    def step():
        for _ in range(LAUNCHES):
            data.mul_(1.0001)
    return step


@workload
def graph(torch, device):
    """As many tiny kernels, captured once and replayed."""
    step = eager(torch, device)
    if device != "cuda":
        return step
    step()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step()
    return captured.replay
