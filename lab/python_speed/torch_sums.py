#!/usr/bin/env python3
"""Processor time of `tacet.torch.clipped_sum` against loops over whole gradients, by network.

usage: torch_sums.py [RECORDS [NETWORK...]]

The loop computes each record's gradient by plain differentiation and adds it in float64, clipped.
Version 0.2 kept the gradients of all records in float64 and added them afterwards. Both run on 24
records, since they take the same time for each. PYTHONPATH has the package, and the Python has
PyTorch. A line for each network: parameters, milliseconds of processor time a record with one
thread (the smaller of two), both ratios, and the largest relative difference of the sums.
"""
import math
import sys
import time

import numpy as np
import torch
from torch import nn

import tacet.torch

CLIP_NORM = 0.5
FEW = 24


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


def version_0_2(net: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> np.ndarray:
    parameters = list(net.parameters())
    units = {}
    for record in range(len(inputs)):
        value = nn.functional.cross_entropy(
            net(inputs[record : record + 1]), targets[record : record + 1]
        )
        found = torch.autograd.grad(value, parameters)
        units[record] = np.concatenate([g.to("cpu", torch.float64).numpy().ravel() for g in found])
    total = np.zeros(sum(p.numel() for p in parameters))
    for gradient in units.values():
        total -= gradient * min(1.0, CLIP_NORM / float(np.linalg.norm(gradient)))
    return total


def sums(net: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> np.ndarray:
    return tacet.torch.clipped_sum(
        net, tacet.torch.to_vector(net), inputs, targets,
        loss=nn.functional.cross_entropy, clip_norm=CLIP_NORM,
    )


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print(f"PyTorch {torch.__version__}, {records} records")
    for name, net, shape in networks():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        net.eval()
        inputs, targets = torch.randn(records, *shape), torch.randint(0, 10, (records,))
        least, found = {}, {}
        for _ in range(2):
            for way, few in (version_0_2, FEW), (loop, FEW), (sums, records):
                begin = time.process_time()
                found[way] = way(net, inputs[:few], targets[:few])
                took = (time.process_time() - begin) / few * 1000
                least[way] = min(took, least.get(way, math.inf))
        found[sums] = sums(net, inputs[:FEW], targets[:FEW])
        error = max(
            np.linalg.norm(found[sums] - found[way]) / np.linalg.norm(found[way])
            for way in (version_0_2, loop)
        )
        parameters = sum(p.numel() for p in net.parameters())
        print(
            f"{name}: {parameters} parameters, version 0.2 {least[version_0_2]:.2f} ms, loop "
            f"{least[loop]:.2f} ms, clipped_sum {least[sums]:.2f} ms, ratios "
            f"{least[version_0_2] / least[sums]:.1f} and {least[loop] / least[sums]:.1f}, "
            f"difference {error:.0e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
