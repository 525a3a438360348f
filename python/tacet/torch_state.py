"""Guards against what a module or a loss keeps of the data that it ran on.

A federation clips and noises an update. Buffers that are not named, frozen parameters and
attributes of Python are outside of it.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch

from .errors import InvalidArgumentError
from .torch_modules import named_part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

__all__ = ["check_same_value", "keeps_buffers", "keeps_frozen", "seeded", "value_of"]

# Relative difference of two values of a loss that rounding can cause.
_ROUNDING = 1e-5


@contextmanager
def seeded(module: torch.nn.Module, *numbers: int) -> Iterator[None]:
    """Fix PyTorch's random numbers on the CPU and the module's devices; they continue afterwards.

    Args:
        module: any module.
        numbers: which of the streams, each from 0.
    """
    devices = {p.device.index for p in module.parameters() if p.device.type == "cuda"}
    with torch.random.fork_rng(devices=sorted(devices)):
        torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]) >> 1)
        yield


@contextmanager
def keeps_frozen(module: torch.nn.Module) -> Iterator[None]:
    """Refuse a training that writes into frozen parameters, which are not sent.

    Args:
        module: has run on data afterwards.

    Raises:
        InvalidArgumentError: one was written; the text names it.
    """
    frozen = {n: (p, p._version) for n, p in module.named_parameters() if not p.requires_grad}
    yield
    for name, (parameter, version) in frozen.items():
        if parameter._version != version:
            text = (
                f"the frozen parameter {name} was written while the module ran on data. It is "
                "neither clipped nor noised: make the module again, and train this parameter or "
                "leave it alone"
            )
            raise InvalidArgumentError(text)


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
    if now.shape != then.shape or now.dtype != then.dtype:
        return False
    return bool(((now == then) | ((now != now) & (then != then))).all())  # noqa: PLR0124


def value_of(
    module: torch.nn.Module,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
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
        before: `value_of` the first data, before the module ran on others.
        after: the same afterwards, with the same parameters.

    Raises:
        InvalidArgumentError: the values differ.
    """
    if math.isclose(before, after, rel_tol=_ROUNDING) or (before != before and after != after):  # noqa: PLR0124
        return
    text = (
        f"{named_part(module, '')} or the loss keeps something of the data: the loss of the first "
        f"records was {before:.6g}, and with the same parameters it is {after:.6g} after others. "
        "What it keeps is neither clipped nor noised: take it out"
    )
    raise InvalidArgumentError(text)
