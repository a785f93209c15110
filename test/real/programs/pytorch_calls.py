"""What PyTorch, built for CUDA, says and does where no GPU is: workers by fork and by spawn, and a function
that is compiled for the CPU."""
import sys
import warnings

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.tensor(float(index * index)), torch.cuda.is_available()


def batches(method):
    loader = DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context=method)
    return [(numbers.tolist(), found.tolist()) for numbers, found in loader]


def complaint(call):
    try:
        return call()
    except (RuntimeError, AssertionError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def main():
    warnings.simplefilter("ignore")  # of threads and forks it warns or not by who was first
    print(torch.__version__, torch.version.cuda)
    print("available", torch.cuda.is_available(), "devices", torch.cuda.device_count())
    print(complaint(lambda: torch.zeros(1, device="cuda")))
    print(complaint(torch.cuda.current_device))
    for method in ("fork", "spawn"):
        print(method, batches(method))
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
    given = torch.randn(4, 8)
    compiled = torch.compile(model)
    print("compiled as it is", torch.allclose(compiled(given), model(given), atol=1e-6))
    compiled(given).sum().backward()
    print("gradient", round(float(model[0].weight.grad.sum()), 4))


if __name__ == "__main__":
    sys.exit(main())
