"""Gradients of many records at once, each a function of that record alone.

`torch.func.vmap` runs a module on the records of a batch as if each were alone. Its operations do
not mix records. It refuses random numbers, values of tensors as numbers of Python, and writes into
memory that records share. Two ways are left in which one record could change what another one
gives, and both are closed here. A module may keep something in an attribute, so each batch has
fresh copies. A batch of another size, or another place in it, rounds differently. So all batches of
a module have the same number of slots, and a record's own bytes choose its slot.
"""

from __future__ import annotations

import random
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.modules import module as module_globals

from .errors import InvalidArgumentError
from .torch_layers import LayerUses, NotFollowedError
from .torch_state import fresh_copies, keeps_buffers, made_up, seeded
from .torch_sums import Pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from .torch_state import Loss

__all__ = ["Batches"]

# Slots of a batch: few are filled more evenly, many cost fewer calls of a layer and read weights
# less often. Few take less time where a record has so many products of further rows, about.
_FEW_SLOTS, _MANY_SLOTS = 8, 32
_MANY_PRODUCTS = 2**23
# Bytes of the parameters that each record of a batch has by itself.
_MOST_BYTES = 2**28
# Runs of a batch until random numbers that were drawn are its own.
_MOST_TRIES = 4
# Records whose bytes are read at once, a part of them.
_MOST_COPIED = 256


class Batches:
    """Gradients of records in batches.

    Weights of layers are shared by the records of a batch (`LayerUses`). Of each other parameter,
    each record has its own, so that it has its own gradient. A batch of made-up records decides
    which are which: the data have no say in it.

    Args:
        module: never runs; copies of it do.
        loss: of a batch of one record.
        parameters: of the module, those that are trained.
        stream: numbers that fix the random numbers.
        inputs: records, of which the shape counts.
        targets: their targets.

    Attributes:
        slots: number of records in a batch; follows from the module and the shapes.
        pieces: of a batch of made-up records, in slots.
        made: these records.

    Raises:
        Exception: the module or the loss cannot run so, of any type.
    """

    def __init__(  # noqa: PLR0917
        self,
        module: torch.nn.Module,
        loss: Loss,
        parameters: Sequence[torch.nn.Parameter],
        stream: Sequence[int],
        inputs: torch.Tensor,
        targets: torch.Tensor,
    ) -> None:
        if not hasattr(torch, "func"):
            text = "this PyTorch has no torch.func"
            raise NotFollowedError(text)
        self._module, self._loss, self._stream = module, loss, stream
        self._parameters = parameters
        _check_followed([module, *([loss] if isinstance(loss, torch.nn.Module) else [])])
        self._shared = {n for n, p in enumerate(parameters) if p.ndim > 1 and p.numel() > 0}
        others = self._made_up(inputs, targets, _FEW_SLOTS)
        if others:  # weights that something else than a layer uses
            self._shared -= others
            others = self._made_up(inputs, targets, _FEW_SLOTS)
        if not others and self.pieces.products_of_more_rows() < _MANY_PRODUCTS:
            others = self._made_up(inputs, targets, _MANY_SLOTS)
        if others:
            text = "a parameter takes part in the loss without the module"
            raise NotFollowedError(text)

    def each(
        self, inputs: torch.Tensor, targets: torch.Tensor, records: Sequence[int]
    ) -> Iterator[tuple[list[list[int]], Pieces]]:
        """Yield the gradients of records, batch by batch.

        Equal records have equal gradients: those of one part of the records are computed once.

        Args:
            inputs: of all records.
            targets: of all records.
            records: places of those that are wanted.

        Yields:
            for each gradient the places in ``records`` that have it; the gradients.
        """
        waiting: list[list[list[int]]] = [[] for _ in range(self.slots)]
        for begin in range(0, len(records), _MOST_COPIED):
            chosen = torch.as_tensor(records[begin : begin + _MOST_COPIED])
            rows = [values[chosen.to(values.device)] for values in (inputs, targets)]
            told = np.concatenate([_bytes(values) for values in rows], axis=1)
            known: dict[bytes, list[int]] = {}
            for place, slot in enumerate(_slots(told, self.slots)):
                equal = known.setdefault(told[place].tobytes(), [])
                if not equal:
                    waiting[slot].append(equal)
                equal.append(begin + place)
        for batch in range(max(map(len, waiting))):
            slots = [slot for slot, queue in enumerate(waiting) if batch < len(queue)]
            having = [waiting[slot][batch] for slot in slots]
            chosen = torch.as_tensor([records[equal[0]] for equal in having])
            rows = [values[chosen.to(values.device)] for values in (inputs, targets)]
            yield having, self._in_slots(rows, slots)

    def of(self, inputs: torch.Tensor, targets: torch.Tensor, records: Sequence[int]) -> Pieces:
        """Return the gradients of records, in their order.

        Args:
            inputs: of all records.
            targets: of all records.
            records: places of those that are wanted, at least one.
        """
        found, row_of, rows = [], [0] * len(records), 0
        for having, pieces in self.each(inputs, targets, records):
            found.append(pieces)
            for row, equal in enumerate(having, rows):
                for place in equal:
                    row_of[place] = row
            rows += len(having)
        return Pieces.joined(found).taken(row_of)

    def _made_up(self, inputs: torch.Tensor, targets: torch.Tensor, slots: int) -> set[int]:
        """Run a batch of made-up records; returns the parameters that others than layers use."""
        self.slots = slots
        self.made = tuple(
            made_up(values[:1].expand(slots, *values.shape[1:])) for values in (inputs, targets)
        )
        self.pieces, others = self._run_without_random_numbers(*self.made)
        return others

    def _in_slots(self, records: Sequence[torch.Tensor], slots: list[int]) -> Pieces:
        """Return the gradients of records in slots; made-up ones are in the others."""
        rows = [made.clone() for made in self.made]
        for all_of, values in zip(rows, records, strict=True):
            all_of[slots] = values
        try:
            pieces, others = self._run_without_random_numbers(*rows)
            if others or not pieces.like(self.pieces):
                text = "the module or the loss computes with other parameters or layers"
                raise NotFollowedError(text)
        except NotFollowedError as error:
            text = (
                f"{error}, other than with made-up records: take out of the module and the loss "
                "what they keep in global names and closures"
            )
            raise InvalidArgumentError(text) from None
        return pieces if len(slots) == self.slots else pieces.taken(slots)

    def _run_without_random_numbers(
        self, inputs: torch.Tensor, targets: torch.Tensor
    ) -> tuple[Pieces, set[int]]:
        """Run a batch, and refuse that any random numbers are drawn: records would share them.

        The streams belong to the process. So another thread may have drawn, and the batch runs
        again, on copies as fresh as the first ones.
        """
        for _ in range(_MOST_TRIES):
            with seeded(self._module, *self._stream):
                before = _streams()
                found = self._run(inputs, targets)
                if _streams() == before:
                    return found
        text = "the module, the loss or another thread draws random numbers"
        raise NotFollowedError(text)

    def _run(self, inputs: torch.Tensor, targets: torch.Tensor) -> tuple[Pieces, set[int]]:
        """Return the gradients of a batch, and the parameters that have a gradient besides."""
        module, loss = fresh_copies(self._module, self._loss)
        number_of = {id(p): number for number, p in enumerate(self._parameters)}
        own = {
            name: p.detach().expand(self.slots, *p.shape).clone().requires_grad_()
            for name, p in module.named_parameters()
            if number_of.get(id(p), -1) not in {*self._shared, -1}
        }
        if sum(values.nbytes for values in own.values()) > _MOST_BYTES:
            text = "the parameters that each record has by itself are too large"
            raise NotFollowedError(text)
        numbers = [number_of[id(module.get_parameter(name))] for name in own]
        uses = LayerUses({i: number for i, number in number_of.items() if number in self._shared})

        def value(
            one: torch.Tensor, target: torch.Tensor, mark: torch.Tensor, own: Mapping[str, Any]
        ) -> torch.Tensor:
            with keeps_buffers(module), uses.marked(mark):
                return loss(torch.func.functional_call(module, own, (one,)), target)

        with _no_saved_tensors(), _plain_attention():
            losses = torch.func.vmap(value)(
                inputs[:, None], targets[:, None], torch.zeros(self.slots), own
            )
        changes = [use.change for use in uses.uses]
        found = torch.autograd.grad(
            losses.sum(), [*own.values(), *changes, *self._parameters], allow_unused=True
        )
        if not uses.unchanged():
            text = "the module writes into the inputs of a layer"
            raise NotFollowedError(text)
        rest = found[len(own) + len(changes) :]
        pieces = Pieces(
            {
                number: gradient.reshape(self.slots, -1)
                for number, gradient in zip(numbers, found, strict=False)
                if gradient is not None
            },
            [
                use.with_gradient(gradient)
                for use, gradient in zip(uses.uses, found[len(own) :], strict=False)
                if gradient is not None
            ],
        )
        others = {number for number, gradient in enumerate(rest) if gradient is not None}
        return pieces, others | pieces.mixed()


def _check_followed(modules: Iterable[torch.nn.Module]) -> None:
    """Refuse modules whose gradients pass through functions that would see many records."""
    hooks = ("_backward_hooks", "_backward_pre_hooks")
    found = any(getattr(module_globals, f"_global{kind}", None) for kind in hooks)
    for part in (part for module in modules for part in module.modules()):
        found = found or any(getattr(part, kind, None) for kind in hooks)
        found = found or getattr(part, "_compiled_call_impl", None) is not None
        found = found or isinstance(part, torch.jit.ScriptModule)
    if found:
        text = "hooks of gradients, and compiled modules, run outside of vmap"
        raise NotFollowedError(text)


def _no_saved_tensors() -> Any:
    return torch.autograd.graph.disable_saved_tensors_hooks("they would see many records")


def _plain_attention() -> Any:
    """Compute attention by products of matrices: vmap would run other kernels record by record."""
    if not hasattr(torch.nn, "attention"):  # before PyTorch 2.3
        return nullcontext()
    return torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)


def _streams() -> tuple[Any, ...]:
    """Return the states of Python's, NumPy's and PyTorch's random numbers."""
    kind, keys, *rest = np.random.get_state(legacy=True)
    numbers = torch.get_rng_state().tolist()
    return random.getstate(), kind, np.asarray(keys).tolist(), rest, numbers


def _bytes(values: torch.Tensor) -> NDArray[np.uint8]:
    """Return the bytes of each record."""
    flat = values.detach().cpu().reshape(len(values), -1).contiguous()
    made: NDArray[np.uint8] = flat.view(torch.uint8).numpy()
    return made


def _slots(told: NDArray[np.uint8], slots: int) -> list[int]:
    """Return for each record the slot that its own bytes choose."""
    words = np.pad(told, ((0, 0), (0, -told.shape[1] % 4))).view(np.uint32)
    factors = np.random.default_rng(0).integers(2**64, size=words.shape[1], dtype=np.uint64)
    high = (words.astype(np.uint64) @ (factors | np.uint64(1))) >> np.uint64(32)
    return [int(slot) for slot in high * np.uint64(slots) >> np.uint64(32)]
