"""Parameters of a module as a vector, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from .torch_modules import check_device, check_private

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["load_vector", "to_vector"]


def _tensors(module: torch.nn.Module, buffers: Iterable[str]) -> list[tuple[str, torch.Tensor]]:
    """Trainable parameters, then the named buffers, each with its name."""
    check_private(module)
    check_device(module)
    found: list[tuple[str, torch.Tensor]] = [
        (name, parameter)
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    ]
    known = dict(module.named_buffers())
    for name in buffers:
        if name not in known:
            text = f"there is no buffer {name!r}; the module has {', '.join(known) or 'none'}"
            raise ValueError(text)
        found.append((name, known[name]))
    if not found:
        text = "the module has no parameter that is trained: set requires_grad, or name buffers"
        raise ValueError(text)
    for name, tensor in found:
        if not tensor.is_floating_point():
            text = (
                f"{name} holds {tensor.dtype}: only floating-point values can be federated. Leave "
                "it out of the parameters and the named buffers"
            )
            raise TypeError(text)
    return found


def _not_finite(module: torch.nn.Module, buffers: Iterable[str]) -> str:
    """Text about the first value that is not finite."""
    for name, tensor in _tensors(module, buffers):
        places = torch.nonzero(~torch.isfinite(tensor.detach().to("cpu", torch.float32)))
        if len(places) > 0:
            return (
                f"{name}{places[0].tolist()} is not a finite number: correct the training, such as "
                "by a lower learning rate"
            )
    return "the module changed while it was read: train and read it in one thread"


def to_vector(module: torch.nn.Module, *, buffers: Iterable[str] = ()) -> NDArray[np.float32]:
    """Return the module's trainable parameters as float32 of shape (d,), a copy.

    Each tensor is copied once, into its part of the vector. A tensor of another type or in the
    memory of an accelerator is first converted or copied by PyTorch.

    Args:
        module: any module.
        buffers: names of buffers that follow the parameters.

    Raises:
        InvalidArgumentError: a part of the module keeps running statistics, or a parameter is on
            another device than the CPU and CUDA's.
        ValueError: a value is not finite, or there is no such buffer.
        TypeError: a tensor does not hold floating-point values.
    """
    named = tuple(buffers)
    tensors = [tensor for _, tensor in _tensors(module, named)]
    vector = np.empty(sum(tensor.numel() for tensor in tensors), dtype=np.float32)
    begin = 0
    for tensor in tensors:
        end = begin + tensor.numel()
        part = tensor.detach().to("cpu", torch.float32)
        vector[begin:end].reshape(part.shape)[...] = part.numpy()
        begin = end
    # Both are NaN if a value is: no array of booleans is needed.
    if len(vector) > 0 and not np.isfinite([vector.min(), vector.max()]).all():
        raise ValueError(_not_finite(module, named))
    return vector


def load_vector(
    module: torch.nn.Module, vector: NDArray[np.float32], *, buffers: Iterable[str] = ()
) -> None:
    """Write a vector of `to_vector` into the module.

    Args:
        module: changed in place.
        vector: float32 of shape (d,).
        buffers: names of the buffers that `to_vector` was given.

    Raises:
        InvalidArgumentError: a part of the module keeps running statistics, or a parameter is on
            another device than the CPU and CUDA's.
        ValueError: the vector has another length; the module is unchanged then.
    """
    tensors = _tensors(module, buffers)
    wanted = sum(tensor.numel() for _, tensor in tensors)
    if vector.shape != (wanted,):
        text = (
            f"the vector has shape {vector.shape}, the module has {wanted} values: give one of "
            "to_vector, with the same parameters trained and the same buffers named"
        )
        raise ValueError(text)
    begin = 0
    with torch.no_grad():
        for _, tensor in tensors:
            end = begin + tensor.numel()
            part = torch.from_numpy(np.array(vector[begin:end], dtype=np.float32))
            tensor.copy_(part.reshape(tensor.shape))
            begin = end
