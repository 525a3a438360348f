"""Gradients of units in float64, their norms, and the sum of clipped ones."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import torch

from .torch_layers import RowUse, TableUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .torch_layers import LayerUse

__all__ = ["Gradient", "Total"]

# Rows that wait for a product of matrices, about so many of a weight.
_WAITING_ROWS = 256


class Gradient:
    """Gradient of a unit: for each parameter a tensor, rows whose products it is, or both.

    All values are float64.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self._parameters = parameters
        self.whole: dict[int, torch.Tensor] = {}
        self.rows: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = defaultdict(list)

    def add(self, number: int, gradient: torch.Tensor) -> None:
        """Add a gradient of a parameter, of any shape with its number of values."""
        wide = gradient.detach()
        wide = (wide.to_dense() if wide.is_sparse else wide).reshape(-1)
        if number in self.whole:
            self.whole[number].add_(wide)
        else:
            self.whole[number] = wide.to(torch.float64, copy=True)

    def add_uses(self, uses: Iterable[LayerUse]) -> None:
        """Add what a record's layers tell."""
        for use in uses:
            if use.gradient is None:
                continue
            if isinstance(use, RowUse):
                # Copies: a module may use the memory of its inputs again for the next record.
                gradients = _wide_copy(use.gradients(use.gradient))
                self.rows[use.weight].append((_wide_copy(use.rows(use.source)), gradients))
                if use.bias is not None:
                    self.add(use.bias, gradients.sum(0))
            elif isinstance(use, TableUse):
                self._add_table(use, use.gradient)

    def _add_table(self, use: TableUse, gradient: torch.Tensor) -> None:
        table = self._parameters[use.weight]
        places = use.source.reshape(-1)
        gradients = gradient.reshape(len(places), -1).double()
        if use.padding is not None:
            trained = places != use.padding
            places, gradients = places[trained], gradients[trained]
        whole = self.whole.setdefault(
            use.weight, torch.zeros(table.numel(), dtype=torch.float64, device=table.device)
        )
        whole.view(len(table), -1).index_add_(0, places, gradients)

    def norm(self) -> float:
        """Return the L2 norm, never less than it is by more than rounding of 2^-40 of it."""
        squares = []
        for number, parts in list(self.rows.items()):
            rows, gradients = _joined(parts)
            cells = rows.shape[1] * gradients.shape[1]
            if number in self.whole or len(rows) * sum(map(_width, (rows, gradients))) > cells:
                self.add(number, gradients.T @ rows)
                del self.rows[number]
            else:
                self.rows[number] = [(rows, gradients)]
                squares.append(_square_of_product(rows, gradients))
        squares += [float(torch.linalg.vector_norm(part)) ** 2 for part in self.whole.values()]
        return math.sqrt(sum(squares))

    def near(self, other: Gradient, most: float) -> bool:
        """Whether the difference from a gradient without rows has at most a norm."""
        square = 0.0
        for number in {*self.whole, *self.rows, *other.whole}:
            shape = len(self._parameters[number]), -1
            zero = torch.zeros_like(self._parameters[number], dtype=torch.float64)
            rest = self.whole.get(number, zero).reshape(shape) - other.whole.get(
                number, zero
            ).reshape(shape)
            for rows, gradients in self.rows.get(number, ()):
                rest.addmm_(gradients.T, rows)
            square += float(torch.linalg.vector_norm(rest)) ** 2
        return square <= most**2


def _joined(
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    if len(parts) == 1:
        return parts[0]
    return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


def _wide_copy(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.float64, copy=True)


def _width(matrix: torch.Tensor) -> int:
    return int(matrix.shape[1])


def _square_of_product(rows: torch.Tensor, gradients: torch.Tensor) -> float:
    """Return an upper bound of the squared norm of ``gradients.T @ rows``, equal but for rounding.

    It is the sum of (a_s . a_t) (g_s . g_t). Where rows cancel each other, rounding may leave
    nothing of a norm that is small beside them. So the bound of its error is added: each product of
    n terms has at most n 2^-53 of the norms' product.
    """
    if len(rows) == 1:
        return float((rows * rows).sum() * (gradients * gradients).sum())
    square = float(((rows @ rows.T) * (gradients @ gradients.T)).sum())
    lengths = torch.linalg.vector_norm(rows, dim=1) * torch.linalg.vector_norm(gradients, dim=1)
    terms = _width(rows) + _width(gradients) + len(rows) ** 2
    return max(square, 0.0) + terms * 2**-52 * float(lengths.sum()) ** 2


class Total:
    """Minus the sum of gradients, in float64, on the devices of the parameters."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self._parts = [
            torch.zeros(p.numel(), dtype=torch.float64, device=p.device) for p in parameters
        ]
        self._waiting: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = defaultdict(list)
        self._rows: dict[int, int] = defaultdict(int)

    def subtract(self, gradient: Gradient, factor: float) -> None:
        """Subtract a gradient times a factor."""
        for number, whole in gradient.whole.items():
            self._parts[number].sub_(whole, alpha=factor)
        for number, parts in gradient.rows.items():
            self._waiting[number] += [(rows, found * factor) for rows, found in parts]
            self._rows[number] += sum(len(rows) for rows, _ in parts)
            if self._rows[number] >= _WAITING_ROWS:
                self._add_waiting(number)

    def _add_waiting(self, number: int) -> None:
        waiting = self._waiting.pop(number)
        self._rows[number] = 0
        rows, gradients = _joined(waiting)
        self._parts[number].view(_width(gradients), -1).addmm_(gradients.T, rows, alpha=-1)

    def flat(self) -> NDArray[np.float64]:
        """Return all values on the CPU."""
        for number in list(self._waiting):
            self._add_waiting(number)
        made: NDArray[np.float64] = torch.cat([part.cpu() for part in self._parts]).numpy()
        return made
