"""Training of one client in a round: steps on minibatches, or a sum of clipped gradients."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .owners import owner_numbers
from .torch_gradients import clipped_gradients
from .torch_modules import check_device, check_hooks
from .torch_state import (
    check_same_value,
    fresh_copies,
    keeps_buffers,
    keeps_values,
    made_up,
    value_of,
)
from .torch_vectors import load_vector, to_vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["clipped_sum", "train_local"]


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
        InvalidArgumentError: a part of the module keeps running statistics, a buffer that is not
            named changed in the training, or the last batch has another loss afterwards with the
            same parameters: the module or the loss has kept something.
    """
    names = tuple(buffers)
    load_vector(module, model, buffers=names)
    parameters = [p for p in module.parameters() if p.requires_grad]
    steps = optimizer(parameters)
    unused, loss_before = fresh_copies(module, loss)
    module.train()
    last = None
    with keeps_buffers(module, names), keeps_values(module, frozen=True) as kept:
        try:
            for inputs, targets in batches:
                last = inputs, targets
                check_device(module, *last)
                found = torch.autograd.grad(
                    loss(module(inputs), targets), parameters, allow_unused=True
                )
                for parameter, gradient in zip(parameters, found, strict=True):
                    parameter.grad = gradient
                steps.step()
        except BaseException:
            load_vector(module, model, buffers=names)
            raise
        finally:
            for parameter in parameters:
                parameter.grad = None
        kept.check()
        trained = to_vector(module, buffers=names)
        if last is not None:
            load_vector(module, model, buffers=names)
            before = value_of(unused, loss_before, *last)
            load_vector(module, model, buffers=names)
            check_same_value(module, before, value_of(module, loss, *last))
            load_vector(module, trained, buffers=names)
    return trained - model


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

    Gradients are those of batches of one record, in evaluation mode, and are added in float64 on
    the parameters' devices. A unit whose gradient is not finite contributes zeros.

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
            running statistics, a parameter has a hook or is written, or the last record has
            another loss after the others.
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
    check_device(module, inputs, targets)
    check_hooks(module)
    module.eval()
    with keeps_values(module):
        before = _value_before(module, loss, inputs, targets) if records else 0.0
        total = clipped_gradients(
            module, inputs, targets, loss=loss, clip_norm=clip_norm, units=unit_of
        )
        if records:
            check_same_value(module, before, _value_after(module, loss, inputs, targets))
    return total.astype(np.float32)


def _value_before(
    module: torch.nn.Module,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    inputs: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    """Return the last record's loss by copies that have run on no other.

    A record that is made up runs first: it is this one that starts what copies share.
    """
    with contextlib.suppress(Exception):  # the module may raise anything for it
        value_of(*fresh_copies(module, loss), made_up(inputs[[-1]]), made_up(targets[[-1]]))
    return value_of(*fresh_copies(module, loss), inputs[[-1]], targets[[-1]])


def _value_after(
    module: torch.nn.Module,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    inputs: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    """Return the last record's loss by copies that have run on the first one."""
    used = fresh_copies(module, loss)
    with keeps_buffers(used[0]):
        value_of(*used, inputs[[0]], targets[[0]])
    return value_of(*used, inputs[[-1]], targets[[-1]])
