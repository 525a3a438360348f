"""Gradients of single records of a PyTorch module, and the sum of clipped ones.

Each record runs by itself, and gradients are added in float64. What a record adds then depends on
that record alone, to 2⁻⁵³: the sum of a million moves by no more than the clip norm and what the
agreement keeps for rounding. Many records at once, or sums in float32, do not hold that.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
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
    total = [torch.zeros(p.numel(), dtype=torch.float64) for p in parameters]
    by_unit = sorted(range(len(units)), key=units.__getitem__)
    for _, records in itertools.groupby(by_unit, key=units.__getitem__):
        of_unit = [torch.zeros_like(part) for part in total]
        for record in records:
            value = loss(module(inputs[record : record + 1]), targets[record : record + 1])
            gradients = torch.autograd.grad(value, parameters, allow_unused=True)
            for part, gradient in zip(of_unit, gradients, strict=True):
                if gradient is not None:
                    part.add_(gradient.detach().reshape(-1).to("cpu", torch.float64))
        norm = math.hypot(*(float(torch.linalg.vector_norm(part)) for part in of_unit))
        if norm > 0 and math.isfinite(norm):
            for summed, part in zip(total, of_unit, strict=True):
                summed.sub_(part, alpha=min(1.0, clip_norm / norm))
    flat: NDArray[np.float64] = torch.cat(total).numpy()
    return flat
