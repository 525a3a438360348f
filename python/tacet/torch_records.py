"""Gradients of single records of a module, one record at a time or several by ``torch.func``."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from .torch_layers import LayerUses
from .torch_state import seeded
from .torch_sums import Gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .torch_layers import LayerUse

__all__ = ["RecordGradients"]

# Relative difference of a gradient's two forms that rounding can cause.
_ROUNDING = 1e-5
# Records of a batch. It is the same for all batches: a processor may round in another way in a
# batch of another size.
_BATCH = 32
# Parameters below which a whole gradient is cheaper than to note the uses of layers.
_FEW = 2**16
# Values of whole gradients in a batch: 256 MiB of float32.
_WHOLE_VALUES = 2**26


class RecordGradients:
    """Gradients of records, each as if the record ran by itself.

    The first record with a finite gradient has it computed by plain differentiation, by the uses of
    layers (`LayerUses`), and as each record of a batch of its copies. If the uses tell another
    gradient, all records have plain ones. If ``torch.func.vmap`` does not know an operation, or the
    copies' gradients differ in a bit, records run one at a time. So what a record gives depends on
    no other record, and not on its place among them. Small modules have plain gradients.

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
        self._module = module
        self._loss = loss
        self._parameters = parameters
        many = sum(p.numel() for p in parameters) >= _FEW
        self._uses: LayerUses | None = LayerUses(parameters) if many else None
        self._compared = False
        self._batches: _Batches | None = None

    def each(
        self, inputs: torch.Tensor, targets: torch.Tensor, records: Sequence[int]
    ) -> Iterator[Callable[[Gradient], None]]:
        """Yield for each record what adds its gradient, to be called before the next one."""
        done = 0
        while done < len(records):
            chosen = records[done : done + (self._batches.size if self._batches else 1)]
            # Copies lie alike in memory, wherever the records lie among others.
            batch = inputs[list(chosen)], targets[list(chosen)]
            if self._batches is not None:
                yield from self._batches.each(*batch)
            else:
                yield partial(self._add_to, inputs=batch[0], targets=batch[1])
            done += len(chosen)

    def _add_to(self, unit: Gradient, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        if self._uses is None:
            self._add_plain(unit, inputs, targets)
        elif self._compared:
            try:
                self._add_uses(self._uses, unit, inputs, targets)
            except RuntimeError:  # perhaps an operation that the first record did not need
                self._uses = None
                self._add_plain(unit, inputs, targets)
        else:
            self._compare(self._uses, unit, inputs, targets)

    def _add_plain(self, unit: Gradient, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        value = self._loss(self._module(inputs), targets)
        _add_all(unit, torch.autograd.grad(value, self._parameters, allow_unused=True))

    def _add_uses(
        self, uses: LayerUses, unit: Gradient, inputs: torch.Tensor, targets: torch.Tensor
    ) -> list[int]:
        """Add a gradient by uses; returns the parameters that are used in other ways, too."""
        uses.clear()
        with uses:
            value = self._loss(self._module(inputs), targets)
        uses.collecting = True
        wanted = [uses.anchor, *self._parameters]
        rest = torch.autograd.grad(value, wanted, allow_unused=True)[1:]
        if not (uses.sound and uses.unchanged()):
            self._uses = None
            self._add_plain(unit, inputs, targets)
            return []
        unit.add_uses(uses.uses)
        _add_all(unit, rest)
        return [number for number, gradient in enumerate(rest) if gradient is not None]

    def _compare(
        self, uses: LayerUses, unit: Gradient, inputs: torch.Tensor, targets: torch.Tensor
    ) -> None:
        plain, other = Gradient(self._parameters), Gradient(self._parameters)
        with seeded(self._module, 0):
            self._add_plain(plain, inputs, targets)
        size = plain.norm()
        if math.isfinite(size):
            self._compared = True
            try:
                with seeded(self._module, 0):
                    whole = self._add_uses(uses, other, inputs, targets)
            except RuntimeError:  # it cannot follow an operation; plain differentiation did
                self._uses = None
        if self._compared and self._uses is not None:
            batches = _Batches(self._module, self._loss, self._parameters, uses, whole)
            if batches.size > 1 and batches.agree(inputs, targets, plain):
                self._batches = batches
            elif not other.near(plain, _ROUNDING * size):
                self._uses = None
        unit.take(plain)


class _Batches:
    """Gradients of several records at a time, by ``torch.func``.

    Args:
        uses: with those of one record.
        whole: numbers of the parameters that are used in other ways, too.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        parameters: Sequence[torch.nn.Parameter],
        uses: LayerUses,
        whole: Sequence[int],
    ) -> None:
        self._module = module
        self._loss = loss
        self._parameters = parameters
        self._uses = uses
        names = [name for name, p in module.named_parameters() if p.requires_grad]
        self._whole = {names[number]: number for number in whole}
        self._zeros = [
            parameters[use.weight].detach().new_zeros(use.shape)
            for use in uses.uses
            if use.weight not in whole
        ]
        self.size = self._size(sum(parameters[number].numel() for number in whole))

    def _size(self, values: int) -> int:
        """Return the records of a batch; 1: batches are of no use."""
        every = sum(p.numel() for p in self._parameters)
        if not hasattr(torch, "func") or 2 * values > every:
            return 1
        return min(_BATCH, _WHOLE_VALUES // max(values, 1))

    def each(
        self, inputs: torch.Tensor, targets: torch.Tensor
    ) -> Iterator[Callable[[Gradient], None]]:
        """Yield for each record what adds its gradient."""
        count = len(inputs)
        if count < self.size:
            inputs, targets = (
                torch.cat([values, values[:1].expand(self.size - count, *values.shape[1:])])
                for values in (inputs, targets)
            )
        uses, whole = self._gradients(inputs, targets)
        for place in range(count):
            yield partial(self._add_to, uses=uses, whole=whole, place=place)

    def agree(self, inputs: torch.Tensor, targets: torch.Tensor, wanted: Gradient) -> bool:
        """Whether a record has the wanted gradient, and the same bits at each place of a batch."""
        copies = [
            values.expand(self.size, *values.shape[1:]).clone() for values in (inputs, targets)
        ]
        try:
            uses, whole = self._gradients(*copies)
        except Exception:  # vmap raises many types for what it does not know
            return False
        found = [values for use in uses for values in (use.source, use.gradient)]
        if not all(torch.equal(v, v[:1].expand_as(v)) for v in [*found, *whole.values()]):
            return False
        unit = Gradient(self._parameters)
        self._add_to(unit, uses, whole, self.size - 1)
        return unit.near(wanted, _ROUNDING * wanted.norm())

    def _add_to(
        self, unit: Gradient, uses: list[Any], whole: dict[int, torch.Tensor], place: int
    ) -> None:
        unit.add_uses(
            replace(use, source=use.source[place], gradient=use.gradient[place]) for use in uses
        )
        for number, gradients in whole.items():
            unit.add(number, gradients[place])

    def _gradients(
        self, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[list[LayerUse], dict[int, torch.Tensor]]:
        """Return uses and whole gradients of all records, along the first axes."""

        def value_of(
            zeros: list[torch.Tensor],
            whole: dict[str, torch.Tensor],
            row: torch.Tensor,
            target: torch.Tensor,
        ) -> tuple[torch.Tensor, list[torch.Tensor]]:
            self._uses.clear()
            self._uses.add(zeros)
            with self._uses:
                output = torch.func.functional_call(self._module, whole, (row[None],))
                value = self._loss(output, target[None])
            return value.reshape(()), [use.source for use in self._uses.uses]

        parameters = {n: self._parameters[number].detach() for n, number in self._whole.items()}
        gradient = torch.func.grad(value_of, argnums=(0, 1), has_aux=True)
        by_record = torch.func.vmap(gradient, in_dims=(None, None, 0, 0), randomness="different")
        (found, whole), sources = by_record(self._zeros, parameters, inputs, targets)
        uses = [
            replace(use, source=source, gradient=values)
            for use, source, values in zip(self._uses.uses, sources, found, strict=True)
        ]
        return uses, {self._whole[name]: values for name, values in whole.items()}


def _add_all(unit: Gradient, gradients: Sequence[torch.Tensor | None]) -> None:
    for number, gradient in enumerate(gradients):
        if gradient is not None:
            unit.add(number, gradient)
