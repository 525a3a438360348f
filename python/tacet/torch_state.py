"""Guards against what a module or a loss keeps of the data that it ran on.

A federation clips and noises an update. Buffers that are not named, frozen parameters and
attributes of Python are outside of it.
"""

from __future__ import annotations

import copy
import math
import random
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch

from .errors import InvalidArgumentError
from .torch_modules import named_part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

__all__ = [
    "KeptValues",
    "check_same_value",
    "fresh_copies",
    "keeps_buffers",
    "keeps_values",
    "made_up",
    "seeded",
    "value_of",
]

# Relative difference of two values of a loss that rounding can cause.
_ROUNDING = 1e-5
# The streams of random numbers belong to the process: one thread at a time may fix them.
_STREAMS = threading.RLock()


@contextmanager
def seeded(module: torch.nn.Module, *numbers: int) -> Iterator[None]:
    """Fix the random numbers of PyTorch, NumPy and Python; they continue afterwards.

    PyTorch's are those on the CPU and the module's devices, NumPy's those of ``numpy.random``
    without a generator. Other threads wait until the streams are back.

    Args:
        module: any module.
        numbers: which of the streams, each from 0.
    """
    devices = {p.device.index for p in module.parameters() if p.device.type == "cuda"}
    seeds = np.random.SeedSequence(numbers).generate_state(3, np.uint64)
    with _STREAMS, torch.random.fork_rng(devices=sorted(devices)):
        of_python, of_numpy = random.getstate(), np.random.get_state()
        on_devices = [torch.cuda.default_generators[device] for device in sorted(devices)]
        for generator in (torch.default_generator, *on_devices):
            generator.manual_seed(int(seeds[0]) >> 1)
        random.seed(int(seeds[1]))
        np.random.seed(int(seeds[2]) >> 32)
        try:
            yield
        finally:
            random.setstate(of_python)
            np.random.set_state(of_numpy)


def fresh_copies(
    module: torch.nn.Module, loss: Loss, *, share_trained: bool = True
) -> tuple[torch.nn.Module, Loss]:
    """Return copies of a module and a loss as they are now, which share parameters.

    What they write into attributes and buffers stays in the copies. Python does not copy functions:
    what a function keeps in a closure or in global names is shared.

    Args:
        module: any module.
        loss: any function, object that can be called, or module.
        share_trained: False: only frozen parameters, which may be large, are shared.

    Raises:
        InvalidArgumentError: one cannot be copied.
    """
    shared = {id(p): p for p in module.parameters() if share_trained or not p.requires_grad}
    try:
        made: tuple[torch.nn.Module, Loss] = copy.deepcopy((module, loss), shared)
    except (RuntimeError, TypeError) as error:
        text = (
            f"{named_part(module, '')} or the loss cannot be copied: {error}. They run on data as "
            "copies: take out tensors that have a graph, open files and locks"
        )
        raise InvalidArgumentError(text) from None
    return made


class KeptValues:
    """Values that parameters must keep while a module runs on data.

    Values are compared, since a version counter misses what is written into ``parameter.data``.

    Args:
        module: as it is before it runs.
        frozen: only the parameters that are not trained.
    """

    def __init__(self, module: torch.nn.Module, *, frozen: bool = False) -> None:
        self._kept = [
            (name, p, p.data, p.detach().clone(), p.grad)
            for name, p in module.named_parameters()
            if not (frozen and p.requires_grad)
        ]

    def give_back(self) -> str | None:
        """Give all parameters their values, memory and ``grad`` back; return one that changed."""
        changed = None
        for name, parameter, memory, values, grad in self._kept:
            parameter.grad = grad
            if parameter.data_ptr() == memory.data_ptr() and _same(parameter.detach(), values):
                continue
            if not _same(parameter.detach(), values):
                changed = changed or name
            memory.copy_(values)
            parameter.data = memory
        return changed

    def check(self) -> None:
        """Give all parameters their values back, and refuse that one was written.

        Raises:
            InvalidArgumentError: the text names it.
        """
        changed = self.give_back()
        if changed is not None:
            trained = {name: p.requires_grad for name, p, *_ in self._kept}[changed]
            text = (
                f"the {'' if trained else 'frozen '}parameter {changed} was written while the "
                "module ran on data. What the module writes is neither clipped nor noised: take "
                "this out of the module or the loss. The parameter has its former values"
            )
            raise InvalidArgumentError(text)


@contextmanager
def keeps_values(module: torch.nn.Module, *, frozen: bool = False) -> Iterator[KeptValues]:
    """Refuse that parameters are written meanwhile, and undo it, also after an error.

    Args:
        module: runs on data meanwhile.
        frozen: only the parameters that are not trained.

    Raises:
        InvalidArgumentError: one was written; the text names it.
    """
    kept = KeptValues(module, frozen=frozen)
    try:
        yield kept
    except BaseException:
        kept.give_back()
        raise
    kept.check()


@contextmanager
def keeps_buffers(module: torch.nn.Module, named: Collection[str] = ()) -> Iterator[None]:
    """Give buffers back the values that they had before a training or an evaluation.

    A buffer that is not named and takes other values meanwhile may hold what the data say. One that
    only changes its shape, or is new, is a cache by size unless ``state_dict()`` has it.

    Args:
        module: has run on data afterwards.
        named: names of buffers that belong to the model.

    Raises:
        InvalidArgumentError: a buffer changed; the text names it, its owner and the remedy.
    """
    before = {n: b.detach().clone() for n, b in module.named_buffers() if n not in named}
    changed: list[str] = []
    try:
        yield
    finally:
        stored = module.state_dict().keys()
        for name, now in module.named_buffers():
            then = before.get(name)
            if name in named or (then is not None and _same(now, then)):
                continue
            if then is not None and now.shape == then.shape:
                with torch.no_grad():
                    now.copy_(then)
                changed.append(name)
            elif name in stored:
                changed.append(name)
    if changed:
        owner = named_part(module, changed[0].rpartition(".")[0])
        text = (
            f"the buffer {changed[0]} of {owner} changed while the module ran on data. It is "
            "neither clipped nor noised. Name it in buffers, so that it is part of the update, or "
            "replace the part that writes it"
        )
        raise InvalidArgumentError(text)


def _same(now: torch.Tensor, then: torch.Tensor) -> bool:
    """Whether all values are equal; not-a-number equals itself."""
    if now.shape != then.shape or now.dtype != then.dtype or now.device != then.device:
        return False
    if torch.equal(now, then):
        return True
    return bool(((now == then) | ((now != now) & (then != then))).all())  # noqa: PLR0124


def made_up(values: torch.Tensor) -> torch.Tensor:
    """Return values of the same type, shape and device that depend on nothing else."""
    if not values.is_floating_point():
        return torch.zeros_like(values)
    generator = torch.Generator().manual_seed(0)
    return torch.rand(values.shape, generator=generator).to(values)


def value_of(
    module: torch.nn.Module,
    loss: Loss,
    inputs: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    """Return the loss in evaluation mode, with fixed random numbers. All parts end in that mode."""
    module.eval()
    with torch.no_grad(), seeded(module, 0):
        return float(loss(module(inputs), targets))


def check_same_value(module: torch.nn.Module, before: float, after: float) -> None:
    """Refuse a module or a loss that remembers data in something that is no buffer.

    Args:
        module: has run on data.
        before: `value_of` the last data, by copies that have not run on others.
        after: the same by those that have, with the same parameters.

    Raises:
        InvalidArgumentError: the values differ. The text does not tell them: they are private.
    """
    if math.isclose(before, after, rel_tol=_ROUNDING) or (before != before and after != after):  # noqa: PLR0124
        return
    text = (
        f"{named_part(module, '')} or the loss keeps something of the data: with the same "
        "parameters, a loss is another one after the module has run on other records. What it "
        "keeps is neither clipped nor noised: take it out"
    )
    raise InvalidArgumentError(text)
