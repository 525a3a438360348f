"""Gradients of single records of a PyTorch module, and the sum of clipped ones.

``torch.func`` computes the gradients of many records at once. PyTorch before 2.0 lacks it, and some
modules do not work with it: their gradients are computed record by record.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import torch

try:
    from torch.func import functional_call, grad, vmap
except ImportError:
    vmap = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["clipped_gradients"]

# Values of gradients that are in memory at a time: 32 MiB in float32. More are not faster.
_VALUES_AT_A_TIME = 1 << 23

# Rows with a norm between these, and a factor above this one, are scaled in float32: no square and
# no factor leaves the range of normal numbers.
_LEAST_NORM, _LARGEST_NORM, _LEAST_FACTOR = 1e-12, 1e12, 1e-30


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
    sizes = [p.numel() for p in module.parameters() if p.requires_grad]
    total = [torch.zeros(size, dtype=torch.float64) for size in sizes]
    records_of = Counter(units)
    order = sorted(range(len(units)), key=units.__getitem__)  # a unit's records in succession
    at_a_time = max(1, _VALUES_AT_A_TIME // sum(sizes))
    chunks = [order[i : i + at_a_time] for i in range(0, len(order), at_a_time)]
    unit, parts = -1, [torch.zeros_like(part) for part in total]  # of a unit with several records
    for records, gradients in zip(
        chunks, _record_gradients(module, inputs, targets, loss, chunks), strict=True
    ):
        alone = [i for i, record in enumerate(records) if records_of[units[record]] == 1]
        if len(alone) == len(records):
            _add_clipped(gradients, clip_norm, total)
            continue
        _add_clipped([gradient[alone] for gradient in gradients], clip_norm, total)
        for i in sorted(set(range(len(records))) - set(alone)):
            if units[records[i]] != unit:
                _add_clipped([part[None] for part in parts], clip_norm, total)
                unit, parts = units[records[i]], [torch.zeros_like(part) for part in total]
            for part, gradient in zip(parts, gradients, strict=True):
                part.add_(gradient[i].to("cpu", torch.float64))
    _add_clipped([part[None] for part in parts], clip_norm, total)
    return np.concatenate([part.numpy() for part in total])


def _record_gradients(
    module: torch.nn.Module,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    chunks: Sequence[list[int]],
) -> Iterator[list[torch.Tensor]]:
    """Gradients of each chunk of records: of each parameter a tensor of shape (records, size)."""
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    values = {name: p.detach() for name, p in parameters.items()}
    buffers = dict(module.named_buffers())

    def loss_of(
        values: dict[str, torch.Tensor], record: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        # What it writes into a buffer is forgotten afterwards.
        outputs = functional_call(module, {**buffers, **values}, (record[None],))
        return loss(outputs, target[None])

    def one_by_one(records: list[int]) -> list[torch.Tensor]:
        rows = []
        for record in records:
            value = loss(module(inputs[record : record + 1]), targets[record : record + 1])
            found = torch.autograd.grad(value, list(parameters.values()), allow_unused=True)
            rows.append(
                [
                    torch.zeros_like(p) if gradient is None else gradient.detach()
                    for gradient, p in zip(found, parameters.values(), strict=True)
                ]
            )
        return [torch.stack(of_one).reshape(len(rows), -1) for of_one in zip(*rows, strict=True)]

    many = vmap is not None
    for records in chunks:
        if many:
            try:
                at_once = vmap(grad(loss_of), in_dims=(None, 0, 0), randomness="different")
                found = at_once(values, inputs[records], targets[records])
                yield [found[name].reshape(len(records), -1) for name in parameters]
                continue
            except Exception:  # also of the module or the loss: one record then raises it
                many = False
        yield one_by_one(records)


def _norms(rows: torch.Tensor) -> torch.Tensor:
    """Norm of each row in float64. Blocks have 1,024 values: float32 adds so few exactly enough."""
    whole = rows.shape[1] // 1024 * 1024
    blocks = rows[:, :whole].reshape(len(rows), whole // 1024, 1024)
    parts = [
        torch.linalg.vector_norm(blocks, dim=2),
        torch.linalg.vector_norm(rows[:, whole:], dim=1, keepdim=True),
    ]
    return torch.linalg.vector_norm(torch.cat(parts, dim=1).to("cpu", torch.float64), dim=1)


def _add_clipped(
    gradients: Sequence[torch.Tensor], clip_norm: float, total: list[torch.Tensor]
) -> None:
    """Subtract each row, clipped, from ``total``: the update is the negative gradient."""
    rows = [
        gradient.to(torch.promote_types(gradient.dtype, torch.float32)) for gradient in gradients
    ]
    if len(rows[0]) == 0:
        return
    norms = torch.linalg.vector_norm(torch.stack([_norms(part) for part in rows]), dim=0)
    factors = (clip_norm / norms).clamp(max=1.0)
    usual = (norms > _LEAST_NORM) & (norms < _LARGEST_NORM) & (factors > _LEAST_FACTOR)
    for row in torch.nonzero(~usual)[:, 0].tolist():
        exact = [part[row].to("cpu", torch.float64) for part in rows]
        norm = float(torch.linalg.vector_norm(torch.cat(exact)))
        if norm > 0 and np.isfinite(norm):
            for summed, part in zip(total, exact, strict=True):
                summed.sub_(part, alpha=min(1.0, clip_norm / norm))
    if not usual.all():
        rows = [part[usual.to(part.device)] for part in rows]
        factors = factors[usual]
    for summed, part in zip(total, rows, strict=True):
        summed.sub_((factors.to(part) @ part).to("cpu", torch.float64))
