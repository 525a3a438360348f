"""Gradients of records in float64: norms of units, and sums of clipped units."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .torch_layers import LayerUse

__all__ = ["Pieces", "Total", "squared_norms"]

# Rows that wait for a product of matrices, about so many of a weight.
_WAITING_ROWS = 256
# Rows of others that a sum adds while one row waits for another that cancels it, about.
_MOST_TERMS = 1024
# Values in float64 that are made at once.
_MOST_VALUES = 2**22


@dataclass(frozen=True)
class Pieces:
    """Gradients of some records, which lie along the first axes.

    Attributes:
        whole: by the number of a parameter, shape (records, values).
        uses: of layers, from which the gradients of other parameters follow.
    """

    whole: dict[int, torch.Tensor]
    uses: list[LayerUse]

    def taken(self, records: Sequence[int] | slice | torch.Tensor) -> Pieces:
        """Return those of some records: copies, if a list or a tensor tells which."""
        return self._mapped(lambda values: values[records])

    @staticmethod
    def joined(parts: Sequence[Pieces]) -> Pieces:
        """Return those of several lists of records, one after the other."""
        return Pieces(
            {n: torch.cat([part.whole[n] for part in parts]) for n in parts[0].whole},
            [
                replace(
                    uses[0],
                    source=torch.cat([use.source for use in uses]),
                    change=torch.cat([use.change for use in uses]),
                )
                for uses in zip(*(part.uses for part in parts), strict=True)
            ],
        )

    def products_of_more_rows(self) -> int:
        """Return the products that layers compute of a record, without those of their first row."""
        found = 0
        for use in self.uses:
            if not use.table:
                rows, gradients = use.rows(use.source[:1]), use.gradients(use.change[:1])
                found += (rows.shape[1] - 1) * rows.shape[2] * gradients.shape[2]
        return found

    def bytes_of_record(self) -> int:
        """Return the size of one record's."""
        return sum(values[0].nbytes for values in self.tensors())

    def like(self, other: Pieces) -> bool:
        """Whether others are of the same parameters and layers, with the same shapes."""
        same = list(self.whole) == list(other.whole) and [use.weight for use in self.uses] == [
            use.weight for use in other.uses
        ]
        shapes = [[values.shape for values in each.tensors()] for each in (self, other)]
        return same and shapes[0] == shapes[1]

    def mixed(self) -> set[int]:
        """Return the weights that are both a table's and another layer's."""
        kinds = {(use.weight, use.table) for use in self.uses}
        return {weight for weight, table in kinds if (weight, not table) in kinds}

    def by_weight(self) -> dict[int, list[LayerUse]]:
        """Return the uses of each weight."""
        found = defaultdict(list)
        for use in self.uses:
            found[use.weight].append(use)
        return found

    def _mapped(self, function: Callable[[torch.Tensor], torch.Tensor]) -> Pieces:
        return Pieces(
            {number: function(values) for number, values in self.whole.items()},
            [replace(u, source=function(u.source), change=function(u.change)) for u in self.uses],
        )

    def tensors(self) -> Iterator[torch.Tensor]:
        """Yield all tensors, with records along the first axes."""
        yield from self.whole.values()
        for use in self.uses:
            yield from (use.source, use.change)


def _rows(uses: Sequence[LayerUse], records: slice) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of sources and of gradients, (records, R, ...); places stay whole numbers."""
    sources, gradients = [], []
    for use in uses:
        source, change = use.source[records], use.change[records].double()
        found = use.rows(source if use.table else source.double())
        of_output = use.gradients(change)
        if use.padding is not None:
            of_output = of_output.masked_fill((found == use.padding)[..., None], 0)
        sources.append(found)
        gradients.append(of_output)
    if len(uses) == 1:
        return sources[0], gradients[0]
    return torch.cat(sources, 1), torch.cat(gradients, 1)


def _steps(uses: Sequence[LayerUse], records: int, size: int) -> Iterator[slice]:
    """Return parts of the records whose rows, of so many values a record, are made at once."""
    step = max(1, _MOST_VALUES // max(size, 1))
    return (slice(begin, begin + step) for begin in range(0, records, step))


def squared_norms(pieces: Pieces, of_unit: int) -> torch.Tensor:
    """Return upper bounds of the squared norms of units' gradients, equal but for rounding.

    Large rows or records that cancel each other leave a rounding error in a sum, which may be much
    larger than what is left. So each bound has a part of the size of what cancels (`_bounds`).

    Args:
        pieces: of records, those of a unit one after the other.
        of_unit: number of records of each unit.

    Returns:
        float64 of shape (units,), on the CPU.
    """
    squares = []
    for values in pieces.whole.values():
        records = values.reshape(len(values) // of_unit, of_unit, -1).double()
        lengths = torch.linalg.vector_norm(records, dim=2)
        squares.append(_bounds(records.sum(1).square().sum(1), lengths, of_unit).cpu())
    for uses in pieces.by_weight().values():
        count = len(uses[0].source)
        rows, gradients = _rows(uses, slice(0, 1))
        many, outputs = of_unit * rows.shape[1], gradients.shape[2]
        inputs = 1 if uses[0].table else rows.shape[2]
        direct = not uses[0].table and many * (inputs + outputs) > inputs * outputs
        largest = max(many * inputs, many * outputs, inputs * outputs if direct else many**2)
        if not direct and many > 1:  # the others of a batch would choose how products round
            largest = _MOST_VALUES
        found = []
        for part in _steps(uses, count // of_unit, largest):
            rows, gradients = _rows(uses, slice(part.start * of_unit, part.stop * of_unit))
            rows = rows.reshape(-1, many, *rows.shape[2:])
            gradients = gradients.reshape(-1, many, outputs)
            lengths = torch.linalg.vector_norm(gradients, dim=2)
            if not uses[0].table:
                lengths = lengths * torch.linalg.vector_norm(rows, dim=2)
            if direct:
                square = (gradients.mT @ rows).square().sum((1, 2))
            else:
                table = uses[0].table
                same = rows[:, :, None] == rows[:, None] if table else rows @ rows.mT
                square = (same * (gradients @ gradients.mT)).sum((1, 2))
            found.append(_bounds(square, lengths, inputs + outputs + many**2))
        squares.append(torch.cat(found).cpu())
    return torch.stack(squares).sum(0)


def _bounds(squares: torch.Tensor, lengths: torch.Tensor, terms: int) -> torch.Tensor:
    """Return upper bounds of the squared norms of sums of rows, equal but for rounding.

    Where rows cancel each other, a squared norm that is made of their products may lose all of
    itself: each product of n terms has an error of at most n 2^-53 of the norms' product. The sum
    of all units loses it too, and others' digits with it, while a large row waits for the one that
    cancels it. With the bound, a clipped row has at most 2^21 clip norms, so this is below 2^-21.

    Args:
        squares: squared norms of the sums, perhaps wrong by rounding.
        lengths: norms of the rows, shape (units, R).
        terms: of one of the products.
    """
    if lengths.shape[1] == 1:  # nothing cancels
        return squares
    return squares.clamp(min=0) + (terms + _MOST_TERMS) * 2**-52 * lengths.sum(1).square()


class Total:
    """Sum of gradients in float64, on the devices of the parameters."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self._parameters = parameters
        self._parts: dict[int, torch.Tensor] = {}
        self._waiting: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = defaultdict(list)

    def add(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Add gradients of the parameters."""
        for number, gradient in enumerate(gradients):
            if gradient is None:
                continue
            whole = gradient.detach()
            whole = (whole.to_dense() if whole.is_sparse else whole).reshape(-1)
            if number in self._parts:
                self._parts[number].add_(whole)
            else:
                self._parts[number] = whole.to(torch.float64, copy=True)

    def add_total(self, other: Total, factor: float) -> None:
        """Add another sum times a factor."""
        for number, part in other._all().items():
            self._part(number).add_(part, alpha=factor)

    def add_pieces(self, pieces: Pieces, factors: torch.Tensor) -> None:
        """Add gradients of records, each times a factor: float64 of shape (records,)."""
        for number, whole in pieces.whole.items():
            self._part(number).add_(factors.to(whole.device) @ whole.double())
        for number, uses in pieces.by_weight().items():
            table = self._parameters[number]
            size = sum(use.change[0].numel() + use.source[0].numel() for use in uses)
            size *= 1 if uses[0].table else self._unfolds(uses)
            for part in _steps(uses, len(factors), size):
                rows, gradients = _rows(uses, part)
                gradients = gradients * factors[part].to(gradients.device)[:, None, None]
                rows, gradients = rows.flatten(0, 1), gradients.flatten(0, 1)
                if uses[0].table:
                    self._part(number).view(len(table), -1).index_add_(0, rows, gradients)
                else:
                    self._wait(number, rows, gradients)

    @staticmethod
    def _unfolds(uses: Sequence[LayerUse]) -> int:
        """Return how often a value of a source is in its rows, at most."""
        sizes = [(use.rows(use.source[:1]).numel(), use.source[0].numel()) for use in uses]
        return max(int(-(-rows // max(source, 1))) for rows, source in sizes)

    def _wait(self, number: int, rows: torch.Tensor, gradients: torch.Tensor) -> None:
        waiting = self._waiting[number]
        waiting.append((rows, gradients))
        if sum(len(each) for each, _ in waiting) >= _WAITING_ROWS:
            self._add_waiting(number)

    def _add_waiting(self, number: int) -> None:
        waiting = self._waiting.pop(number)
        rows, gradients = (torch.cat(each) for each in zip(*waiting, strict=True))
        self._part(number).view(gradients.shape[1], -1).addmm_(gradients.T, rows)

    def _part(self, number: int) -> torch.Tensor:
        if number not in self._parts:
            parameter = self._parameters[number]
            self._parts[number] = torch.zeros(
                parameter.numel(), dtype=torch.float64, device=parameter.device
            )
        return self._parts[number]

    def _all(self) -> dict[int, torch.Tensor]:
        for number in list(self._waiting):
            self._add_waiting(number)
        return self._parts

    def norm(self) -> float:
        """Return the L2 norm."""
        return math.hypot(*(float(torch.linalg.vector_norm(p)) for p in self._all().values()))

    def flat(self) -> NDArray[np.float64]:
        """Return all values on the CPU."""
        self._all()
        parts = [self._part(number).cpu() for number in range(len(self._parameters))]
        made: NDArray[np.float64] = torch.cat(parts).numpy()
        return made
