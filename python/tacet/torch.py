"""PyTorch modules in a federation: parameters as a vector, local training, clipped sums.

Import it by name: ``import tacet.torch``. Needs PyTorch, which the package does not install.

Parameters travel in the order of ``module.named_parameters()``, those with ``requires_grad``.
Buffers are not sent unless they are named: they are then averaged, noised and clipped together with
the parameters. A module with running statistics, such as batch norm's, is refused: they would hold
the data's means. `private` returns a copy with group norm in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .owners import owner_numbers
from .torch_gradients import clipped_gradients
from .torch_modules import check_private, keeps_buffers, private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["clipped_sum", "load_vector", "private", "to_vector", "train_local"]


def _tensors(module: torch.nn.Module, buffers: Iterable[str]) -> list[tuple[str, torch.Tensor]]:
    """Trainable parameters, then the named buffers, each with its name."""
    check_private(module)
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
        InvalidArgumentError: a part of the module keeps running statistics.
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
        InvalidArgumentError: a part of the module keeps running statistics.
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


def train_local(
    module: torch.nn.Module,
    model: NDArray[np.float32],
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
    *,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    optimizer: Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer],
    buffers: Iterable[str] = (),
) -> NDArray[np.float32]:
    """Train the module from ``model`` on one client's batches and return the update.

    The module is work space: it holds the client's trained parameters afterwards. Buffers that are
    not named have their former values then. Do not share the module between threads.

    Args:
        module: module of the agreed architecture.
        model: parameters of the round, float32 of shape (d,).
        batches: pairs (inputs, targets); the client's data, as often as wanted.
        loss: mean loss of a batch, ``loss(outputs, targets)``.
        optimizer: makes the optimizer, e.g. ``lambda p: torch.optim.SGD(p, lr=0.1)``.
        buffers: names of buffers that belong to the model.

    Returns:
        New minus old parameters, float32 of shape (d,), not clipped: the federation clips it.

    Raises:
        InvalidArgumentError: a part of the module keeps running statistics, or a buffer that is not
            named changed in the training.
    """
    names = tuple(buffers)
    load_vector(module, model, buffers=names)
    module.train()
    steps = optimizer([p for p in module.parameters() if p.requires_grad])
    with keeps_buffers(module, names):
        for inputs, targets in batches:
            steps.zero_grad()
            value = loss(module(inputs), targets)
            value.backward()
            steps.step()
    return to_vector(module, buffers=names) - model


def clipped_sum(
    module: torch.nn.Module,
    model: NDArray[np.float32],
    inputs: torch.Tensor,
    targets: torch.Tensor,
    *,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    clip_norm: float,
    groups: Sequence[Any] | NDArray[Any] | torch.Tensor | None = None,
) -> NDArray[np.float32]:
    """Return the sum of the clipped negative gradients of records or groups of records.

    For unit record without ``groups``, for unit person with the person of each record. With g_u the
    gradient of the loss at ``model``, added over the records of unit u, the result is

        - sum over u of g_u min(1, clip_norm / ||g_u||).

    Gradients are those of batches of one record, in evaluation mode, and are added in float64. A
    unit whose gradient is not finite contributes zeros.

    Args:
        module: module of the agreed architecture; work space.
        model: parameters of the round, float32 of shape (d,).
        inputs: records along the first axis.
        targets: their targets.
        loss: ``loss(outputs, targets)`` of a batch of one record.
        clip_norm: L2 norm to which each unit's gradient is clipped, above 0.
        groups: the person of each record, by position: numbers or texts in a list, an array, a
            tensor or a pandas Series. None: each record is a unit.

    Returns:
        float32 of shape (d,); zeros without records.

    Raises:
        InvalidArgumentError: a record has no person that can be compared with the others': None,
            NaN, or a tensor in a list. The text names its row. Or a part of the module keeps
            running statistics.
        ValueError: another number of targets or groups, or a clip norm that is not above 0.
    """
    if not clip_norm > 0:
        text = f"clip_norm is {clip_norm}, it must be above 0"
        raise ValueError(text)
    records = len(inputs)
    if len(targets) != records:
        text = f"there are {records} inputs and {len(targets)} targets: give one of each a record"
        raise ValueError(text)
    unit_of = range(records) if groups is None else owner_numbers("groups", groups, records)
    load_vector(module, model)
    module.eval()
    with keeps_buffers(module):
        total = clipped_gradients(
            module, inputs, targets, loss=loss, clip_norm=clip_norm, units=unit_of
        )
    return total.astype(np.float32)
