"""Tests that a unit moves the sum by its clip norm, whatever the module does with the units."""

from __future__ import annotations

import unittest
from collections.abc import Callable

import numpy as np
import torch

import tacet
import tacet.torch

nn = torch.nn
functional = torch.nn.functional
CROSS_ENTROPY = functional.cross_entropy
RECORDS = 30
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def product(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (outputs * targets).sum()


class Scratch(nn.Module):
    """Copies each input into the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(300, 300, bias=False)
        self.memory = torch.zeros(1, 300, dtype=torch.float64)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        self.memory.copy_(rows)
        return self.layer(self.memory)


class UnitsTest(unittest.TestCase):
    """Sums with clip norm 1, with a unit, without it, and with another one in its place."""

    def clipped(
        self, net: nn.Module, x: torch.Tensor, y: torch.Tensor, loss: Loss
    ) -> np.ndarray:
        model = tacet.torch.to_vector(net)
        found = tacet.torch.clipped_sum(net, model, x, y, loss=loss, clip_norm=1)
        return found.astype(np.float64)

    def test_memory_that_a_module_uses_again_holds_no_waiting_record(self) -> None:
        torch.manual_seed(0)
        net = Scratch().double()
        x = 1e-3 * torch.randn(RECORDS, 300, dtype=torch.float64)
        y = torch.randn(RECORDS, 300, dtype=torch.float64)
        x[-1] *= 1e6
        every = self.clipped(net, x, y, product)
        rest = self.clipped(net, x[:-1], y[:-1], product)
        self.assertLessEqual(float(np.linalg.norm(every - rest)), 1.00001)


if __name__ == "__main__":
    unittest.main()
