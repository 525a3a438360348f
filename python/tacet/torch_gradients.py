"""Gradients of single records of a PyTorch module, and the sum of clipped ones.

Each record runs by itself, and gradients are added in float64. What a record adds then depends on
that record alone, to 2⁻⁵³: the sum of a million moves by no more than the clip norm and what the
agreement keeps for rounding. Many records at once, or sums in float32, do not hold that.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from .torch_records import RecordGradients
from .torch_sums import Gradient, Total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import torch
    from numpy.typing import NDArray

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
    by_unit = sorted(range(len(units)), key=units.__getitem__)
    records = RecordGradients(module, loss, parameters).each(inputs, targets, by_unit)
    pairs = zip(by_unit, records, strict=True)
    for _, of_unit in itertools.groupby(pairs, lambda pair: units[pair[0]]):
        unit = Gradient(parameters)
        for _, add_to in of_unit:
            add_to(unit)
        norm = unit.norm()
        if norm > 0 and math.isfinite(norm):
            total.subtract(unit, min(1.0, clip_norm / norm))
    return total.flat()
