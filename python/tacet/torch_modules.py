"""PyTorch modules whose buffers keep statistics of the data, and what replaces them.

Batch norm keeps means and variances of its inputs in buffers. Nothing clips or noises a buffer,
since it is not a parameter. After training on private data, ``module.state_dict()`` holds it.
"""

from __future__ import annotations

import copy

import torch
from torch.nn.modules.batchnorm import _NormBase

from .errors import InvalidArgumentError

__all__ = ["check_device", "check_hooks", "check_private", "named_part", "private"]

_MOST_GROUPS = 32  # as in "Group Normalization", arXiv:1803.08494


def named_part(module: torch.nn.Module, path: str) -> str:
    """Return path and type of the part of ``module`` at ``path``, for errors."""
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
                f"{named_part(module, path)} keeps running statistics of the data in buffers, "
                "which are neither clipped nor noised. Train tacet.torch.private(module), which "
                "has group norm in its place"
            )
            raise InvalidArgumentError(text)


def check_device(module: torch.nn.Module, *data: object) -> None:
    """Refuse tensors of which no vector can be made, and data in another memory than the module.

    Args:
        module: any module.
        data: tensors; other objects are not looked at.

    Raises:
        InvalidArgumentError: a parameter is neither on the CPU nor on a CUDA device, or a tensor of
            ``data`` is on a device that has no parameter.
    """
    devices = {parameter.device for parameter in module.parameters()}
    for device in devices:
        if device.type not in ("cpu", "cuda"):
            text = (
                f"the module has parameters on {device}: sums in float64 need the CPU or CUDA. "
                "Call module.to('cpu'), or to_empty(device='cpu') for one on meta"
            )
            raise InvalidArgumentError(text)
    for tensor in data:
        if isinstance(tensor, torch.Tensor) and tensor.device not in devices:
            text = (
                f"inputs or targets are on {tensor.device}, and the module's parameters on "
                f"{', '.join(sorted(map(str, devices)))}: move one to the other by .to(device)"
            )
            raise InvalidArgumentError(text)


def check_hooks(module: torch.nn.Module) -> None:
    """Refuse hooks of trained parameters: they change gradients, and copies do not have them.

    Args:
        module: any module.

    Raises:
        InvalidArgumentError: the text names the parameter.
    """
    kinds = ("_backward_hooks", "_post_accumulate_grad_hooks")
    for name, parameter in module.named_parameters():
        if parameter.requires_grad and any(getattr(parameter, kind, None) for kind in kinds):
            text = (
                f"the parameter {name} has a hook, which would change gradients: remove it, and "
                "put what it does into the loss"
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
                f"{named_part(module, path)} has no number of channels yet: call the module on a "
                "public input first"
            )
            raise InvalidArgumentError(text)
    copied = copy.deepcopy(module)
    made: dict[torch.nn.Module, torch.nn.Module] = {}
    for path, part in list(copied.named_modules(remove_duplicate=False)):
        if not _has_statistics(part):
            continue
        if part not in made:
            made[part] = _without_statistics(part, named_part(copied, path))
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
