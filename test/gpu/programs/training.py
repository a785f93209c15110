"""Ten steps of training in PyTorch, with deterministic algorithms: prints every step's loss to the bit. With
--workers the data comes from a DataLoader whose workers are forked and then spawned.

    training.py [--device cuda|cpu] [--workers]

Prints {"missing": why} where there is no PyTorch with that device.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "workloads"))

from missing import Missing, digest, imported, torch_on, waited  # noqa: E402

STEPS, BATCH, WORKERS = 10, 16, 2


def model_of(torch, device):
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(),
                         nn.Dropout(0.1), nn.Linear(32 * 64, 10)).to(device)


def trained(torch, device, batches):
    torch.manual_seed(0)
    model = model_of(torch, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for pictures, target in batches:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(pictures.to(device, non_blocking=True)),
                                                 target.to(device, non_blocking=True))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    waited(torch, device)
    return [digest(loss.cpu()) for loss in losses]


class Pictures:
    """Each is made of its number: the same whoever makes it."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, number):
        return made(imported("torch"), number)  # in a worker that was spawned, for the first time


def made(torch, number):
    generator = torch.Generator().manual_seed(number)
    return torch.randn(3, 16, 16, generator=generator), number % 10


def loaded(torch, device, how):
    return torch.utils.data.DataLoader(
        Pictures(), batch_size=BATCH, num_workers=WORKERS, multiprocessing_context=how,
        pin_memory=device == "cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--workers", action="store_true")
    asked = parser.parse_args()
    try:
        torch = torch_on(asked.device)
    except Missing as why:
        print(json.dumps({"missing": str(why)}))
        return
    said = {}
    if asked.workers:
        for how in ("fork", "spawn"):
            said[how] = trained(torch, asked.device, loaded(torch, asked.device, how))
    else:
        items = [made(torch, number) for number in range(STEPS * BATCH)]
        parts = (zip(*items[at:at + BATCH]) for at in range(0, len(items), BATCH))
        batches = [(torch.stack(pictures), torch.tensor(targets)) for pictures, targets in parts]
        said["losses"] = trained(torch, asked.device, batches)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
