#!/usr/bin/env python3
"""The eight variants as a PyTorch script: train.py --variant K [--batch 32] [--steps 100]

A ResNet of 26 layers learns to tell random pictures apart; nothing is downloaded. Each variant is the one
before it and one change more (variants.py). It needs PyTorch 2.0 or newer and a GPU:

    GPUSHIM_TAG=variant=workers LD_PRELOAD=libgpushim.so python3 train.py --variant 1
"""
import argparse
import ctypes

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from variants import VARIANTS, variant_options

CLASSES, SIDE = 1000, 224
WORKERS = 8
MEAN, DEVIATION = 127.5, 73.9  # of evenly distributed bytes


class RandomPictures(Dataset):
    """As many as are asked for; making one costs the CPU about what decoding a photograph does."""

    def __init__(self, count, bytes_on_wire):
        self.count, self.bytes_on_wire = count, bytes_on_wire

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        large = torch.randint(0, 256, (3, 2 * SIDE, 2 * SIDE), dtype=torch.uint8, generator=random)
        left, top = (int(torch.randint(0, SIDE, (1,), generator=random)) for _ in range(2))
        picture = large[:, top:top + SIDE, left:left + SIDE]
        label = index % CLASSES
        if self.bytes_on_wire:
            return picture.contiguous(), label
        return (picture.float() - MEAN) / DEVIATION, label


def convolution(before, after, side, stride=1):
    return nn.Sequential(nn.Conv2d(before, after, side, stride, side // 2, bias=False), nn.BatchNorm2d(after))


class Block(nn.Module):
    """Three convolutions and a way around them."""

    def __init__(self, before, after, stride):
        super().__init__()
        narrow = after // 4
        self.through = nn.Sequential(
            convolution(before, narrow, 1), nn.ReLU(),
            convolution(narrow, narrow, 3, stride), nn.ReLU(),
            convolution(narrow, after, 1))
        same = before == after and stride == 1
        self.around = nn.Identity() if same else convolution(before, after, 1, stride)
        self.relu = nn.ReLU()

    def forward(self, data):
        return self.relu(self.through(data) + self.around(data))


def network():
    layers = [convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for after, stride in ((256, 1), (512, 2), (1024, 2), (2048, 2)):
        layers += [Block(before, after, stride), Block(after, after, 1)]
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, CLASSES))


class Training:
    def __init__(self, does):
        self.does, self.device = does, torch.device("cuda")
        self.model = network().to(self.device)
        self.forward = torch.compile(self.model) if does.compiled else self.model
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.scaler = torch.cuda.amp.GradScaler(enabled=does.amp)

    def step(self, pictures, labels):
        does = self.does
        pictures = pictures.to(self.device, non_blocking=does.pinned)
        labels = labels.to(self.device, non_blocking=does.pinned)
        if does.bytes_on_wire:
            pictures = (pictures.float() - MEAN) / DEVIATION
        self.optimizer.zero_grad(set_to_none=does.set_to_none)
        with torch.autocast("cuda", dtype=torch.float16, enabled=does.amp):
            loss = self.loss(self.forward(pictures), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss


def step_mark():
    """Tells gpushim that a step begins, and how many samples it has; without the preload it tells nobody."""
    mark = getattr(ctypes.CDLL(None), "gpushim_step_n", None)
    if mark is None:
        return lambda samples: None
    mark.argtypes = [ctypes.c_uint64]
    return mark


def batches_of(does, batch, steps):
    data = RandomPictures(batch * steps, does.bytes_on_wire)
    workers = WORKERS if does.workers else 0
    return DataLoader(data, batch_size=batch, num_workers=workers, pin_memory=does.pinned, drop_last=True)


def main():
    parser = argparse.ArgumentParser(description="a variant of the series in PyTorch")
    parser.add_argument("--variant", type=int, choices=range(len(VARIANTS)), required=True)
    parser.add_argument("--batch", type=int, default=32, help="of the first variants (32)")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    does = variant_options(options.variant)
    batch = options.batch * does.times_batch
    torch.manual_seed(0)
    # The series is about fp32 until AMP: TF32 is another example's (../precision_ladder).
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    training, mark = Training(does), step_mark()
    loss = torch.zeros(())
    mark(batch)
    for pictures, labels in batches_of(does, batch, options.steps):
        loss = training.step(pictures, labels)
        mark(batch)
    print(f"{VARIANTS[options.variant][0]}: {options.steps} steps of {batch}, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
