"""A step of training in PyTorch, as the options of a variant (variants.py) have it."""
import torch
import torch_loop
from network import network, normalised
from torch import nn


class Training:
    """layout: of the pictures and of what is made of them."""

    def __init__(self, does, options, layout=torch.contiguous_format):
        self.does, self.device, self.layout = does, options.device, layout
        self.model = network(options.channels).to(self.device, memory_format=layout)
        self.forward = torch.compile(self.model) if does.compiled else self.model
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.scaler = torch_loop.grad_scaler(self.device, does.amp)

    def step(self, pictures, labels):
        does = self.does
        pictures = pictures.to(self.device, non_blocking=does.pinned)
        labels = labels.to(self.device, non_blocking=does.pinned)
        if does.bytes_on_wire:
            pictures = normalised(pictures)
        self.optimizer.zero_grad(set_to_none=does.set_to_none)
        with torch_loop.autocast(self.device, does.amp):
            loss = self.loss(self.forward(pictures.contiguous(memory_format=self.layout)), labels)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()
