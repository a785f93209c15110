"""The network that the scripts in PyTorch train, a ResNet of 26 layers, and random pictures for it."""
import torch
from torch import nn
from torch.utils.data import Dataset

CLASSES = 1000
PHOTOGRAPH = 384  # the side of what a picture is cut from
MEAN, DEVIATION = 127.5, 73.9  # of evenly distributed bytes


def normalised(pictures):
    return (pictures.float() - MEAN) / DEVIATION


class RandomPictures(Dataset):
    """As many as are asked for; making one costs the CPU about what decoding a photograph does, however small
    the picture is."""

    def __init__(self, count, side, bytes_on_wire):
        self.count, self.side, self.bytes_on_wire = count, side, bytes_on_wire

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        large = torch.randint(0, 256, (3, PHOTOGRAPH, PHOTOGRAPH), dtype=torch.uint8, generator=random)
        left, top = torch.randint(0, PHOTOGRAPH - self.side + 1, (2,), generator=random).tolist()
        picture = large[:, top:top + self.side, left:left + self.side]
        return picture.contiguous() if self.bytes_on_wire else normalised(picture), index % CLASSES


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


def network(channels=256):
    """channels: behind the first block; 32 make a network that a CPU can train."""
    before = channels // 4
    layers = [convolution(3, before, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for times, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
        after = times * channels
        layers += [Block(before, after, stride), Block(after, after, 1)]
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, CLASSES))
