"""Layers whose weights have gradients that are products of two small matrices.

A linear layer's gradient for one record is the sum over its R rows (tokens, places) of g aᵀ, with
the row a of the layer's input and the gradient g of the loss in the row of its output. Its norm
needs R² products of rows instead of a matrix of the weights' size (Li et al., arXiv:2110.05679),
and the sum over records of clipped gradients is one product of matrices.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LayerUse", "LayerUses", "NotFollowedError"]

_TYPES = (torch.float32, torch.float64)


class NotFollowedError(RuntimeError):
    """Gradients of single records do not follow from one pass over many."""


@dataclass
class LayerUse:
    """Inputs of a layer for some records, and the gradients of the loss in its outputs.

    Attributes:
        weight: number of its parameter.
        source: inputs of the layer, records along the first axis.
        change: zeros that are added to the outputs; afterwards the gradients in the outputs.
        rows: of sources the rows a, shape (records, R, inputs); of a table the places, (records,
            R).
        gradients: of gradients the rows g, shape (records, R, outputs).
        padding: of a table: the place whose row is not trained; None: there is none.
        table: the weight is a table of embeddings.
    """

    weight: int
    source: torch.Tensor
    change: torch.Tensor
    rows: Callable[[torch.Tensor], torch.Tensor]
    gradients: Callable[[torch.Tensor], torch.Tensor]
    padding: int | None = None
    table: bool = False

    def with_gradient(self, gradient: torch.Tensor) -> LayerUse:
        """Return the use with gradients of the loss."""
        return replace(self, change=gradient)


def _flat_rows(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(len(values), -1, values.shape[-1])


def _flat(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(len(values), -1)


class _Tap(torch.autograd.Function):  # type: ignore[misc]
    """Identity under ``vmap`` that hands the tensors of all records to a function."""

    @staticmethod
    def forward(output: torch.Tensor, *_: Any) -> torch.Tensor:
        return output.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        text = "the module or the loss computes gradients itself"
        raise NotFollowedError(text)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[torch.Tensor, int]:
        output, source, _, noted = arguments
        whole, used = (
            values.expand(info.batch_size, *values.shape) if at is None else values.movedim(at, 0)
            for values, at in zip((output, source), in_dims, strict=False)
        )
        return noted(whole, used), 0


class LayerUses(TorchFunctionMode):  # type: ignore[misc]
    """Layers that a module uses on records under ``vmap``, while it is entered.

    The weights are cut from the graph where they are noted, so what the graph still says about one
    comes from other uses, such as a weight that is part of the loss.

    Args:
        weights: numbers by identity of the parameters whose uses are noted.

    Attributes:
        uses: in the order of the calls.
    """

    def __init__(self, weights: dict[int, int]) -> None:
        super().__init__()
        self._numbers = weights
        self._mark = torch.zeros(())
        self._attention = _with_globals(
            functional.multi_head_attention_forward,
            linear=self._linear,
            has_torch_function=lambda _: False,
            _in_projection_packed=_with_globals(
                functional._in_projection_packed, linear=self._linear
            ),
        )
        self._layers: dict[Any, Callable[..., torch.Tensor]] = {
            functional.linear: self._linear,
            functional.conv1d: partial(self._convolution, functional.conv1d, 1),
            functional.conv2d: partial(self._convolution, functional.conv2d, 2),
            functional.embedding: self._embedding,
            functional.multi_head_attention_forward: self._attention,
            # Under vmap a tensor does not know that it has a gradient.
            torch.Tensor.requires_grad.__get__: _has_gradient,
            torch.Tensor.grad_fn.__get__: _refused,
            torch.Tensor.retain_grad: _refused,
            torch.Tensor.register_hook: _refused,
        }
        self.uses: list[LayerUse] = []
        self._versions: list[tuple[torch.Tensor, int]] = []

    @contextmanager
    def marked(self, mark: torch.Tensor) -> Iterator[None]:
        """Be entered, under a ``vmap`` whose records have each a number ``mark``."""
        self._mark = mark  # so that PyTorch takes an output that records share for each's own
        with self:
            yield

    def unchanged(self) -> bool:
        """Whether the inputs of layers still have the values that the layers saw."""
        return all(tensor._version == version for tensor, version in self._versions)

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        layer = self._layers.get(func, func) if torch.is_grad_enabled() else func
        return layer(*args, **(kwargs or {}))

    def _number(self, weight: Any) -> int | None:
        return self._numbers.get(id(weight)) if weight.dtype in _TYPES else None

    def _noted(self, output: torch.Tensor, source: torch.Tensor, **use: Any) -> torch.Tensor:
        """Return the output, in whose gradient the use takes part."""

        def noted(whole: torch.Tensor, used: torch.Tensor) -> torch.Tensor:
            change = torch.zeros_like(whole, memory_format=torch.contiguous_format)
            change.requires_grad_()
            self.uses.append(LayerUse(source=used.detach(), change=change, **use))
            self._versions.append((used, used._version))
            return whole + change

        made: torch.Tensor = _Tap.apply(output, source, self._mark, noted)
        return made

    def _linear(
        self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None  # noqa: A002
    ) -> torch.Tensor:
        number = self._number(weight)
        if number is None or input.dtype != weight.dtype:
            return functional.linear(input, weight, bias)
        output = self._noted(
            functional.linear(input, weight.detach()), input,
            weight=number, rows=_flat_rows, gradients=_flat_rows,
        )  # fmt: skip
        return output if bias is None else output + bias

    def _convolution(  # noqa: PLR0917  (as PyTorch has them)
        self,
        layer: Callable[..., torch.Tensor],
        axes: int,
        input: torch.Tensor,  # noqa: A002
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> torch.Tensor:
        """Convolve along one axis or two; the rows are the patches, one for each place."""
        options = (stride, padding, dilation, groups)
        number = self._number(weight)
        followed = number is not None and input.dtype == weight.dtype and groups == 1
        if not followed or isinstance(padding, str):
            return layer(input, weight, bias, *options)
        sizes = {
            "kernel_size": (1,) * (2 - axes) + tuple(weight.shape[2:]),
            "stride": (1,) * (2 - axes) + _each(stride, axes),
            "padding": (0,) * (2 - axes) + _each(padding, axes),
            "dilation": (1,) * (2 - axes) + _each(dilation, axes),
        }
        output = self._noted(
            layer(input, weight.detach(), None, *options), input, weight=number,
            rows=lambda images: _patches(images, axes, sizes),
            gradients=lambda found: _places(found, axes),
        )  # fmt: skip
        return output if bias is None else output + bias.reshape(-1, *(1,) * axes)

    def _embedding(  # noqa: PLR0917  (as PyTorch has them)
        self,
        input: torch.Tensor,  # noqa: A002
        weight: torch.Tensor,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> torch.Tensor:
        options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        number = self._number(weight)
        if number is None or max_norm is not None or scale_grad_by_freq:
            plain = padding_idx is None and max_norm is None and not scale_grad_by_freq
            if plain or (isinstance(weight, torch.nn.Parameter) and not weight.requires_grad):
                return functional.embedding(input, weight, *options)
            text = "vmap knows no table of a record with a padding or a norm"
            raise NotFollowedError(text)
        output = functional.embedding(input, weight.detach(), *options)
        padding = None if padding_idx is None else padding_idx % len(weight)
        return self._noted(
            output, input, weight=number, rows=_flat, gradients=_flat_rows, padding=padding,
            table=True,
        )  # fmt: skip


def _has_gradient(tensor: torch.Tensor) -> bool:
    """Return whether a tensor may have a gradient; a parameter knows it."""
    known = isinstance(tensor, torch.nn.Parameter)
    return bool(tensor.requires_grad if known else tensor.is_floating_point())


def _refused(*_: Any) -> Any:
    text = "the module or the loss asks for gradients, which would be those of many records"
    raise NotFollowedError(text)


def _with_globals(function: Any, **changed: Any) -> Any:
    """Return a copy of a function of Python that finds other globals."""
    made = types.FunctionType(
        function.__code__,
        {**function.__globals__, **changed},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _each(option: Any, axes: int) -> tuple[int, ...]:
    """Return an option of a convolution for each of its axes."""
    found = (option,) if isinstance(option, int) else tuple(option)
    return tuple(int(each) for each in found) * (axes // len(found))


def _patches(
    images: torch.Tensor, axes: int, sizes: dict[str, tuple[int, ...]]
) -> torch.Tensor:
    """Return the patches that a convolution multiplies: (records, R, inputs)."""
    shape = images.shape[-1 - axes :]
    flat = images.reshape(-1, shape[0], *(1,) * (2 - axes), *shape[1:])
    found = functional.unfold(flat, **sizes).transpose(1, 2)
    return found.reshape(len(images), -1, found.shape[-1])


def _places(gradients: torch.Tensor, axes: int) -> torch.Tensor:
    """Return the gradients in channels, one place a row: (records, R, outputs)."""
    channels = gradients.shape[-1 - axes]
    found = gradients.reshape(-1, channels, *gradients.shape[gradients.ndim - axes :])
    return found.flatten(2).transpose(1, 2).reshape(len(gradients), -1, channels)
