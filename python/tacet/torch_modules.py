"""PyTorch modules whose buffers keep statistics of the data, and what replaces them.

Batch norm keeps means and variances of its inputs in buffers. Nothing clips or noises a buffer,
since it is not a parameter. After training on private data, ``module.state_dict()`` holds it.
"""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch.nn.modules.batchnorm import _NormBase

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["check_private", "keeps_buffers", "private"]

_MOST_GROUPS = 32  # as in "Group Normalization", arXiv:1803.08494


def _named(module: torch.nn.Module, path: str) -> str:
    owner = module.get_submodule(path)
    return f"{path or 'the module'} ({type(owner).__name__})"


def _has_statistics(module: torch.nn.Module) -> bool:
    return isinstance(module, _NormBase) and module.running_mean is not None


def check_private(module: torch.nn.Module) -> None:
    """Refuse a module with a part that keeps running statistics.

    Args:
        module: any module.

    Raises:
        InvalidArgumentError: the text names the part, its type and the remedy.
    """
    for path, part in module.named_modules():
        if _has_statistics(part):
            text = (
                f"{_named(module, path)} keeps running statistics of the data in buffers, which "
                "are neither clipped nor noised. Train tacet.torch.private(module), which has "
                "group norm in its place"
            )
            raise InvalidArgumentError(text)


def private(module: torch.nn.Module) -> torch.nn.Module:
    """Return a copy of the module without running statistics, for `tacet.torch`'s functions.

    Batch norm becomes group norm of the same channels, weights and biases: with at most 32 groups,
    each of 2 channels or more, after 2- and 3-dimensional convolutions, else with one group.
    Instance norm with running statistics keeps none, and normalises each record by itself. The
    parameters have the same names, shapes and order.

    Args:
        module: any module; it is not changed.

    Raises:
        InvalidArgumentError: a batch norm has one channel of one value, of which group norm leaves
            nothing, or a lazy one has seen no input.
    """
    for path, part in module.named_modules():
        if _has_statistics(part) and part.num_features == 0:
            text = (
                f"{_named(module, path)} has no number of channels yet: call the module on a "
                "public input first"
            )
            raise InvalidArgumentError(text)
    copied = copy.deepcopy(module)
    made: dict[torch.nn.Module, torch.nn.Module] = {}
    for path, part in list(copied.named_modules(remove_duplicate=False)):
        if not _has_statistics(part):
            continue
        if part not in made:
            made[part] = _without_statistics(part, _named(copied, path))
        if not path:
            return made[part]
        parent, _, name = path.rpartition(".")
        setattr(copied.get_submodule(parent), name, made[part])
    return copied


def _without_statistics(norm: _NormBase, named: str) -> torch.nn.Module:
    channels = norm.num_features
    spatial = isinstance(norm, torch.nn.BatchNorm2d | torch.nn.BatchNorm3d)
    if isinstance(norm, torch.nn.modules.instancenorm._InstanceNorm):
        norm.track_running_stats = False
        norm.running_mean = norm.running_var = norm.num_batches_tracked = None
        return norm
    if channels == 1 and not spatial:
        text = (
            f"{named} has one channel, and group norm of one value is zero. Leave it out, and "
            "scale its input by public bounds"
        )
        raise InvalidArgumentError(text)
    most = min(_MOST_GROUPS, channels // 2) if spatial else 1
    groups = next((g for g in range(most, 1, -1) if channels % g == 0), 1)
    group_norm = torch.nn.GroupNorm(groups, channels, eps=norm.eps, affine=norm.affine)
    group_norm.weight, group_norm.bias = norm.weight, norm.bias
    return group_norm.train(norm.training)


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
        owner = _named(module, changed[0].rpartition(".")[0])
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
