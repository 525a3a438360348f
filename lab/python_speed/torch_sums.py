#!/usr/bin/env python3
"""Processor time of `tacet.torch.clipped_sum` against a loop over whole gradients, by network.

usage: torch_sums.py [RECORDS]

The loop computes each record's gradient by plain differentiation and adds it in float64, clipped.
PYTHONPATH has the package, and the Python has PyTorch. A line for each network: parameters,
milliseconds of processor time a record with one thread (the smaller of two), their ratio, and the
relative difference of the sums.
"""
import math
import sys
import time

import numpy as np
import torch
from torch import nn

import tacet.torch

CLIP_NORM = 0.5


class Block(nn.Module):
    """A transformer's block over tokens of 640 values, and a layer of the first token."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.TransformerEncoderLayer(640, 8, 2560, batch_first=True)
        self.out = nn.Linear(640, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.body(tokens)[:, 0])


def layers(*widths: int) -> nn.Module:
    parts = []
    for inputs, outputs in zip(widths, widths[1:]):
        parts += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def networks():
    yield "layers 784-512-256-10", layers(784, 512, 256, 10), (784,)
    yield "layers 784-2048-1600-10", layers(784, 2048, 1600, 10), (784,)
    for tokens in (1, 4, 16):
        yield f"transformer block, {tokens} tokens", Block(), (tokens, 640)
    yield "convolutions", nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 256), nn.ReLU(), nn.Linear(256, 10),
    ), (1, 28, 28)


def loop(net: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> np.ndarray:
    parameters = list(net.parameters())
    total = [torch.zeros(p.numel(), dtype=torch.float64) for p in parameters]
    for record in range(len(inputs)):
        value = nn.functional.cross_entropy(
            net(inputs[record : record + 1]), targets[record : record + 1]
        )
        found = [g.reshape(-1).double() for g in torch.autograd.grad(value, parameters)]
        norm = math.hypot(*(float(torch.linalg.vector_norm(part)) for part in found))
        for summed, part in zip(total, found):
            summed.sub_(part, alpha=min(1.0, CLIP_NORM / norm))
    return torch.cat(total).numpy()


def sums(net: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> np.ndarray:
    return tacet.torch.clipped_sum(
        net, tacet.torch.to_vector(net), inputs, targets,
        loss=nn.functional.cross_entropy, clip_norm=CLIP_NORM,
    )


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print(f"PyTorch {torch.__version__}, {records} records")
    for name, net, shape in networks():
        net.eval()
        inputs, targets = torch.randn(records, *shape), torch.randint(0, 10, (records,))
        least, found = {}, {}
        for _ in range(2):
            for way in (loop, sums):
                begin = time.process_time()
                found[way] = way(net, inputs, targets)
                took = (time.process_time() - begin) / records * 1000
                least[way] = min(took, least.get(way, math.inf))
        error = np.linalg.norm(found[sums] - found[loop]) / np.linalg.norm(found[loop])
        parameters = sum(p.numel() for p in net.parameters())
        print(
            f"{name}: {parameters} parameters, loop {least[loop]:.2f} ms, clipped_sum "
            f"{least[sums]:.2f} ms, ratio {least[loop] / least[sums]:.1f}, difference {error:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
