"""Gradients of single records of a module, each a function of that record alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from .torch_batches import Batches
from .torch_state import KeptValues, fresh_copies, keeps_buffers, seeded
from .torch_sums import Total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .torch_sums import Pieces

__all__ = ["RecordGradients"]

# Relative difference of a gradient's two forms that rounding can cause, and in units of the
# coarsest type of the module's parameters.
_ROUNDING = 1e-4
_ROUNDING_OF_TYPE = 16
# Values of a parameter that choose the random numbers: they change from round to round.
_TOLD = 1024
# Gradients of records that are kept at once: bytes, and records.
_MOST_BYTES = 2**27
_MOST_RECORDS = 1024


class RecordGradients:
    """Gradients of records, each as if the record were the only one.

    There are two ways. In one, each record runs on copies of the module and the loss as they were
    at first, and with random numbers of its own, which follow from the parameters and the record.
    In the other one, `Batches`, 8 or 32 records run at once. In both, what a record gives
    depends on no other record, and not on its place. Parameters must have their values afterwards.

    Batches are used where they can run a record that is made up, and give its gradient. The data
    have no say in this choice: it is the same for all records.

    Args:
        module: in the mode that is wanted.
        loss: of a batch of one record.
        parameters: of the module, those that are trained.
        inputs: records along the first axis, at least one.
        targets: their targets.

    Attributes:
        at_once: records whose gradients `pieces` can return at once; 0: there are no batches.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        parameters: Sequence[torch.nn.Parameter],
        inputs: torch.Tensor,
        targets: torch.Tensor,
    ) -> None:
        # Those that the records' copies are made of never run.
        self._module, self._loss = fresh_copies(module, loss)
        self._parameters = parameters
        self._inputs, self._targets = inputs, targets
        self._kept = KeptValues(module)
        self._stream = [_number(p.detach().reshape(-1)[:_TOLD]) for p in parameters]
        self._batches = self._checked_batches()
        self.at_once = 0
        if self._batches is not None:
            size = self._batches.pieces.bytes_of_record()
            self.at_once = min(max(_MOST_BYTES // max(size, 1), self._batches.slots), _MOST_RECORDS)

    def add_to(self, total: Total, records: Sequence[int]) -> None:
        """Add the gradients of records."""
        if self._batches is None:
            for record in records:
                # A copy lies alike in memory, wherever the record lies among others.
                self._add_plain(total, self._inputs[[record]], self._targets[[record]])
            return
        for begin in range(0, len(records), self.at_once):
            some = records[begin : begin + self.at_once]
            total.add_pieces(self.pieces(some), torch.ones(len(some), dtype=torch.float64))

    def pieces(self, records: Sequence[int]) -> Pieces:
        """Return the gradients of records, at most `at_once`, in their order."""
        try:
            return self._in_batches().of(self._inputs, self._targets, records)
        finally:
            self._kept.check()

    def each(self, records: Sequence[int]) -> Iterator[tuple[list[int], Pieces]]:
        """Yield the gradients of any number of records, batch by batch.

        Args:
            records: those that are wanted.

        Yields:
            the number of records that have each gradient; the gradients.
        """
        try:
            for having, pieces in self._in_batches().each(self._inputs, self._targets, records):
                yield [len(equal) for equal in having], pieces
        finally:
            self._kept.check()

    def _in_batches(self) -> Batches:
        if self._batches is None:
            text = "there are no batches"
            raise ValueError(text)
        return self._batches

    def _add_plain(self, total: Total, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        module, loss = fresh_copies(self._module, self._loss)
        stream = *self._stream, _number(inputs), _number(targets)
        try:
            with seeded(module, *stream), keeps_buffers(module):
                value = loss(module(inputs), targets)
                found = torch.autograd.grad(value, self._parameters, allow_unused=True)
        finally:
            self._kept.check()
        total.add(found)

    def _checked_batches(self) -> Batches | None:
        """Return batches, if they tell the gradient of a made-up record."""
        plain, other = Total(self._parameters), Total(self._parameters)
        try:
            made = Batches(
                self._module, self._loss, self._parameters, self._stream, self._inputs,
                self._targets,
            )  # fmt: skip
            self._add_plain(plain, *(values[-1:] for values in made.made))
        except Exception:  # the module or the loss may raise anything for what is made up
            return None
        finally:
            self._kept.give_back()
        other.add_pieces(made.pieces.taken([made.slots - 1]), torch.ones(1, dtype=torch.float64))
        size = plain.norm()
        other.add_total(plain, -1.0)
        coarsest = max(
            torch.finfo(p.dtype).eps for p in self._module.parameters() if p.is_floating_point()
        )
        near = other.norm() <= max(_ROUNDING, _ROUNDING_OF_TYPE * coarsest) * size
        return made if math.isfinite(size) and near else None


def _number(values: torch.Tensor) -> int:
    """Return a number that follows from the values."""
    flat = values.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy()
    words = np.pad(flat, (0, -len(flat) % 4)).view(np.uint32)
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0])
