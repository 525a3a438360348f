"""Gradients of single records of a PyTorch module, and the sum of clipped ones.

What a record gives depends on that record alone, bit for bit, and gradients are added in float64.
So the sum of a million moves by no more than the clip norm and what the agreement keeps for
rounding. Sums in float32 do not hold that.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import TYPE_CHECKING

import torch

from .torch_records import RecordGradients
from .torch_sums import Total, squared_norms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .torch_sums import Pieces

__all__ = ["clipped_gradients"]


def clipped_gradients(
    module: torch.nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    *,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    clip_norm: float,
    units: Sequence[int],
) -> NDArray[np.float64]:
    """Return minus the sum over units of their gradients, each clipped to ``clip_norm``.

    The gradient of a unit is the sum of its records' gradients, in the module's present mode. A
    unit whose gradient is not finite contributes zeros.

    Args:
        module: its parameters with ``requires_grad`` have gradients.
        inputs: records along the first axis.
        targets: their targets.
        loss: ``loss(outputs, targets)`` of a batch of one record.
        clip_norm: L2 norm, above 0.
        units: the unit of each record, by position.

    Returns:
        float64 of shape (d,), in the order of the module's parameters.
    """
    parameters = [p for p in module.parameters() if p.requires_grad]
    total = Total(parameters)
    if len(units) == 0:
        return total.flat()
    records = RecordGradients(module, loss, parameters, inputs, targets)
    of_unit: dict[int, list[int]] = defaultdict(list)
    for record, unit in enumerate(units):
        of_unit[unit].append(record)
    units_of_many = list(of_unit.values())
    if records.at_once > 0:
        alone = [some[0] for some in of_unit.values() if len(some) == 1]
        units_of_many = [some for some in of_unit.values() if len(some) > 1]
        for counts, pieces in records.each(alone):
            _subtract(total, pieces, 1, clip_norm, counts)
    for some in _together(units_of_many, records.at_once):
        if len(some) > 1 or len(some[0]) <= records.at_once:
            pieces = records.pieces(list(itertools.chain(*some)))
            begin = 0
            for length, alike in itertools.groupby(some, len):
                end = begin + length * len(list(alike))
                _subtract(total, pieces.taken(slice(begin, end)), length, clip_norm)
                begin = end
            continue
        whole = Total(parameters)
        records.add_to(whole, some[0])
        norm = whole.norm()
        if norm > 0 and math.isfinite(norm):
            total.add_total(whole, -min(1.0, clip_norm / norm))
    return total.flat()


def _together(units: Iterable[list[int]], most: int) -> Iterator[list[list[int]]]:
    """Yield units with together at most so many records, or one unit with more."""
    some: list[list[int]] = []
    for of_unit in sorted(units, key=len):
        if some and sum(map(len, some)) + len(of_unit) > most:
            yield some
            some = []
        some.append(of_unit)
    if some:
        yield some


def _subtract(
    total: Total, pieces: Pieces, of_unit: int, clip_norm: float, counts: Sequence[int] = (1,)
) -> None:
    """Subtract the clipped gradients of units, whose records lie one after the other.

    Args:
        total: what they are subtracted from.
        pieces: of the units' records.
        of_unit: number of records of each unit.
        clip_norm: L2 norm, above 0.
        counts: how many units have each gradient, or one number for all.
    """
    norms = squared_norms(pieces, of_unit).sqrt()
    factors = (clip_norm / norms).clamp(max=1) * torch.as_tensor(counts, dtype=torch.float64)
    factors = factors.repeat_interleave(of_unit)
    used = (torch.isfinite(norms) & (norms > 0)).repeat_interleave(of_unit)
    if used.all():
        total.add_pieces(pieces, -factors)
    elif used.any():
        total.add_pieces(pieces.taken(used), -factors[used])
