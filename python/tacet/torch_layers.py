"""Gradients of layers as products of two small matrices ("ghost clipping").

A linear layer's gradient for one record is the sum over its T rows (tokens, places) of g aᵀ, with
the row a of the layer's input and the gradient g of the loss in the row of its output. Its norm
needs T² products of rows instead of a matrix of the weights' size (Li et al., arXiv:2110.05679),
and the sum over records of clipped gradients is one product of matrices.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LayerUse", "LayerUses", "RowUse", "TableUse"]

_TYPES = (torch.float32, torch.float64)


class _Tap(torch.autograd.Function):  # type: ignore[misc]
    """Identity that keeps the gradient which comes back."""

    @staticmethod
    def forward(
        ctx: Any, output: torch.Tensor, anchor: torch.Tensor, use: LayerUse, uses: LayerUses
    ) -> torch.Tensor:
        ctx.use, ctx.uses = use, uses
        return output.clone()  # the module may write into it

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        if ctx.uses.collecting:
            ctx.use.gradient = gradient.detach()
        else:  # the module or the loss computes gradients itself
            ctx.uses.sound = False
        return gradient, None, None, None


@dataclass
class LayerUse:
    """A layer's input for one record, and the gradient of the loss in its output.

    Attributes:
        weight: number of its parameter.
        source: input of the layer.
        shape: of the output.
        gradient: of the loss in the output; None: the loss does not depend on it.
    """

    weight: int
    source: torch.Tensor
    shape: torch.Size
    gradient: torch.Tensor | None = None


def _flat_rows(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(-1, values.shape[-1])


def _places(gradient: torch.Tensor) -> torch.Tensor:
    """Return the gradients in channels, one place a row."""
    return gradient.flatten(2).transpose(1, 2).reshape(-1, gradient.shape[1])


@dataclass
class RowUse(LayerUse):
    """Use of a linear layer or a convolution: the gradient of its weight is the sum of g aᵀ.

    Attributes:
        rows: of the source the rows a, shape (T, inputs).
        gradients: of a gradient the rows g, shape (T, outputs).
        bias: number of the parameter whose gradient is the sum of g; None: the layer has none.
    """

    rows: Callable[[torch.Tensor], torch.Tensor] = _flat_rows
    gradients: Callable[[torch.Tensor], torch.Tensor] = _flat_rows
    bias: int | None = None


@dataclass
class TableUse(LayerUse):
    """Use of a table of embeddings, whose places are the source.

    Attributes:
        padding: place whose row is not trained; None: there is none.
    """

    padding: int | None = None


class LayerUses(TorchFunctionMode):  # type: ignore[misc]
    """Layers that a module uses on one record, while it is entered.

    A layer is noted where its weight is a parameter itself and the product is cheaper than the
    gradient. Its parameters are cut from the graph there, so what the graph still says about a
    parameter comes from other uses, such as a weight that is shared or part of the loss.

    Args:
        parameters: those that are trained.

    Attributes:
        anchor: what to differentiate for, so that the gradients of outputs are computed.
        uses: of this record.
        sound: False: the uses do not tell the whole gradient.
        collecting: the gradients that come now are those of the loss.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        super().__init__()
        self._numbers = {id(p): number for number, p in enumerate(parameters)}
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
            functional.conv1d: self._conv1d,
            functional.conv2d: self._conv2d,
            functional.embedding: self._embedding,
            functional.multi_head_attention_forward: self._attention,
        }
        self.anchor = torch.zeros((), requires_grad=True)
        self.clear()

    def clear(self) -> None:
        """Forget the uses, before another record."""
        self.uses: list[LayerUse] = []
        self.sound = True
        self.collecting = False
        self._inputs: list[tuple[torch.Tensor, int]] = []

    def unchanged(self) -> bool:
        """Whether the inputs of layers still have the values that the layers saw."""
        return all(tensor._version == version for tensor, version in self._inputs)

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        layer = self._layers.get(func, func) if torch.is_grad_enabled() else func
        return layer(*args, **(kwargs or {}))

    def _number(self, weight: Any) -> int | None:
        return self._numbers.get(id(weight)) if weight.dtype in _TYPES else None

    def _noted(self, output: torch.Tensor, use: LayerUse) -> torch.Tensor:
        """Return the output, from which the gradient comes back."""
        use.shape = output.shape
        self.uses.append(use)
        self._inputs.append((use.source, use.source._version))
        return _Tap.apply(output, self.anchor, use, self)

    def _product(
        self,
        layer: Callable[..., torch.Tensor],
        source: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        count: int,
        *options: Any,
        **shaped: Callable[[torch.Tensor], torch.Tensor],
    ) -> torch.Tensor:
        number = self._number(weight)
        inputs, outputs = weight[0].numel(), len(weight)
        cheaper = 2 * count * (inputs + outputs) <= inputs * outputs
        if number is None or not cheaper or source.dtype != weight.dtype:
            return layer(source, weight, bias, *options)
        of_bias = None if bias is None else self._number(bias)
        cut = bias if of_bias is None or bias is None else bias.detach()
        output = layer(source, weight.detach(), cut, *options)
        use = RowUse(number, source.detach(), output.shape, bias=of_bias, **shaped)
        return self._noted(output, use)

    def _linear(
        self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None  # noqa: A002
    ) -> torch.Tensor:
        count = input.numel() // max(weight.shape[-1], 1)
        return self._product(functional.linear, input, weight, bias, count)

    def _conv1d(  # noqa: PLR0917  (as PyTorch has them)
        self,
        input: torch.Tensor,  # noqa: A002
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> torch.Tensor:
        options = (stride, padding, dilation, groups)
        if input.ndim != 3 or groups != 1 or isinstance(padding, str):
            return functional.conv1d(input, weight, bias, *options)
        step, margin, spread = (_whole(option) for option in options[:3])
        length = input.shape[-1] + 2 * margin - spread * (weight.shape[-1] - 1) - 1
        sizes = {
            "kernel_size": (1, weight.shape[-1]),
            "stride": (1, step),
            "padding": (0, margin),
            "dilation": (1, spread),
        }
        return self._product(
            functional.conv1d, input, weight, bias, len(input) * (length // step + 1), *options,
            rows=lambda x: _patches(x[:, :, None], sizes), gradients=_places,
        )  # fmt: skip

    def _conv2d(  # noqa: PLR0917  (as PyTorch has them)
        self,
        input: torch.Tensor,  # noqa: A002
        weight: torch.Tensor,
        bias: torch.Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> torch.Tensor:
        options = (stride, padding, dilation, groups)
        if input.ndim != 4 or groups != 1 or isinstance(padding, str):
            return functional.conv2d(input, weight, bias, *options)
        steps, margins, spreads = (_pair(option) for option in options[:3])
        kernel = tuple(weight.shape[2:])
        count = len(input)
        for axis in range(2):
            length = input.shape[2 + axis] + 2 * margins[axis]
            count *= (length - spreads[axis] * (kernel[axis] - 1) - 1) // steps[axis] + 1
        sizes = {
            "kernel_size": kernel, "stride": steps, "padding": margins, "dilation": spreads,
        }  # fmt: skip
        return self._product(
            functional.conv2d, input, weight, bias, count, *options,
            rows=lambda x: _patches(x, sizes), gradients=_places,
        )  # fmt: skip

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
            return functional.embedding(input, weight, *options)
        output = functional.embedding(input, weight.detach(), *options)
        padding = None if padding_idx is None else padding_idx % len(weight)
        return self._noted(output, TableUse(number, input.detach(), output.shape, padding=padding))


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


def _pair(option: Any) -> tuple[int, int]:
    return (int(option), int(option)) if not isinstance(option, tuple | list) else tuple(
        int(option[axis if len(option) > 1 else 0]) for axis in range(2)
    )  # type: ignore[return-value]


def _whole(option: Any) -> int:
    return _pair(option)[0]


def _patches(images: torch.Tensor, sizes: dict[str, tuple[int, int]]) -> torch.Tensor:
    """Return the patches that a convolution multiplies, one a row."""
    found = functional.unfold(images, **sizes).transpose(1, 2)
    return found.reshape(-1, found.shape[-1])
