"""Gradients of single records of a module, each a function of that record alone."""

from __future__ import annotations

import math
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from .torch_layers import LayerUses
from .torch_state import KeptValues, fresh_copies, keeps_buffers, made_up, seeded
from .torch_sums import Gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["RecordGradients"]

# Relative difference of a gradient's two forms that rounding can cause.
_ROUNDING = 1e-5
# Parameters below which a whole gradient is cheaper than to note the uses of layers.
_FEW = 2**16
# Values of a parameter that choose the random numbers: they change from round to round.
_TOLD = 1024


class RecordGradients:
    """Gradients of records, each as if the record were the only one.

    Each record runs on copies of the module and the loss as they were at first, and with random
    numbers of its own, which follow from the parameters and the record. Afterwards all parameters
    must have their values. So what a record gives depends on no other record, and not on its place.

    Large modules have gradients by the uses of layers (`LayerUses`), if these tell the gradient of
    a record that is made up. The data have no say in this choice: it is the same for all records.
    A record whose uses cannot be followed has a plain gradient.

    Args:
        module: in the mode that is wanted.
        loss: of a batch of one record.
        parameters: of the module, those that are trained.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        parameters: Sequence[torch.nn.Parameter],
    ) -> None:
        # Those that the records' copies are made of never run.
        self._module, self._loss = fresh_copies(module, loss)
        self._parameters = parameters
        self._kept = KeptValues(module)
        self._stream = [_number(p.detach().reshape(-1)[:_TOLD]) for p in parameters]
        many = sum(p.numel() for p in parameters) >= _FEW
        self._uses: LayerUses | None = LayerUses(parameters) if many else None
        self._probed = False

    def each(
        self, inputs: torch.Tensor, targets: torch.Tensor, records: Sequence[int]
    ) -> Iterator[Callable[[Gradient], None]]:
        """Yield for each record what adds its gradient, to be called before the next one."""
        for record in records:
            # Copies lie alike in memory, wherever the records lie among others.
            one = inputs[[record]], targets[[record]]
            if self._uses is not None and not self._probed:
                self._probed = True
                if not self._uses_tell_all(self._uses, *map(made_up, one)):
                    self._uses = None
            yield partial(self._add_to, inputs=one[0], targets=one[1])

    def _add_to(self, unit: Gradient, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        if self._uses is None or not self._add_uses(self._uses, unit, inputs, targets):
            self._add_plain(unit, inputs, targets)

    @contextmanager
    def _alone(
        self, inputs: torch.Tensor, targets: torch.Tensor
    ) -> Iterator[Callable[[], torch.Tensor]]:
        """Tell what computes a record's loss, whose gradient is to be had before the end."""
        module, loss = fresh_copies(self._module, self._loss)
        stream = *self._stream, _number(inputs), _number(targets)
        try:
            with seeded(module, *stream), keeps_buffers(module):
                yield lambda: loss(module(inputs), targets)
        finally:
            self._kept.check()

    def _add_plain(self, unit: Gradient, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        with self._alone(inputs, targets) as value:
            found = torch.autograd.grad(value(), self._parameters, allow_unused=True)
        _add_all(unit, found)

    def _add_uses(
        self, uses: LayerUses, unit: Gradient, inputs: torch.Tensor, targets: torch.Tensor
    ) -> bool:
        """Add a gradient by uses, or nothing and return False where they cannot be followed."""
        uses.clear()
        try:
            with self._alone(inputs, targets) as value:
                with uses:
                    output = value()
                uses.collecting = True
                wanted = [uses.anchor, *self._parameters]
                rest = torch.autograd.grad(output, wanted, allow_unused=True)[1:]
        except RuntimeError:
            return False
        if not (uses.sound and uses.unchanged()):
            return False
        unit.add_uses(uses.uses)
        _add_all(unit, rest)
        return True

    def _uses_tell_all(
        self, uses: LayerUses, inputs: torch.Tensor, targets: torch.Tensor
    ) -> bool:
        plain, other = Gradient(self._parameters), Gradient(self._parameters)
        try:
            self._add_plain(plain, inputs, targets)
            followed = self._add_uses(uses, other, inputs, targets)
        except Exception:  # the module or the loss may raise anything for what is made up
            return False
        size = plain.norm()
        return followed and math.isfinite(size) and other.near(plain, _ROUNDING * size)


def _number(values: torch.Tensor) -> int:
    """Return a number that follows from the values."""
    flat = values.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy()
    words = np.pad(flat, (0, -len(flat) % 4)).view(np.uint32)
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])


def _add_all(unit: Gradient, gradients: Sequence[torch.Tensor | None]) -> None:
    for number, gradient in enumerate(gradients):
        if gradient is not None:
            unit.add(number, gradient)
