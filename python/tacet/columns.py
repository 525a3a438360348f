"""Columns of a table as numbers in [-1, 1], by public bounds and categories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arguments import is_missing
from .errors import InvalidArgumentError

__all__ = ["Columns", "interval_of", "plain_array"]


def plain_array(name: str, values: Any, dtype: type | None = None) -> NDArray[Any]:
    """Values as an array.

    Raises:
        TypeError: the array is masked, whose hidden values would be used; or sparse or complex.
        InvalidArgumentError: rows have different lengths, or a value is no number and ``dtype`` is
            one.
    """
    if isinstance(values, np.ma.MaskedArray):
        text = f"{name} is a masked array: leave its masked rows out, or fill them in"
        raise TypeError(text)
    if hasattr(values, "toarray"):
        text = f"{name} is sparse: give {name}.toarray()"
        raise TypeError(text)
    try:
        array = np.asarray(values)
    except ValueError:
        text = f"{name}: its rows have different lengths, wanted equal ones"
        raise InvalidArgumentError(text) from None
    if array.dtype.kind == "c":
        text = f"{name} holds complex numbers: give their real and imaginary parts as columns"
        raise TypeError(text)
    try:
        return array if dtype is None else array.astype(dtype)
    except (TypeError, ValueError):
        text = f"{name} holds values that are no numbers: a DataFrame may have texts as categories"
        raise InvalidArgumentError(text) from None


@dataclass(frozen=True)
class _Column:
    """A column: an interval of numbers, categories, or neither (numbers as they are)."""

    low: float = -1.0
    high: float = 1.0
    clamped: bool = False
    categories: tuple[Any, ...] = ()

    @property
    def width(self) -> int:
        return len(self.categories) or 1


class Columns:
    """Reading of rows for one model.

    Numbers are clamped to their bounds, which become -1 and 1. A category becomes a column of zeros
    and ones for each of its values.

    Args:
        rows: a DataFrame, or numbers of shape (rows, n_features).
        bounds: as in `tacet.sklearn.FederatedClassifier`.

    Raises:
        InvalidArgumentError: a bound is wrong or missing; the text names the column.
    """

    def __init__(self, rows: Any, bounds: Any) -> None:
        self.names: list[str] | None = _names(rows)
        if self.names is None:
            self._columns = _of_array(plain_array("X", rows), bounds)
        else:
            _check_columns(self.names, bounds)
            self._columns = [_of_frame(rows[name], str(name), bounds) for name in rows.columns]
        if not self._columns:
            text = "X has no columns: give at least one"
            raise InvalidArgumentError(text)
        self.width = sum(column.width for column in self._columns)
        """Number of columns that `encode` returns."""

    @property
    def count(self) -> int:
        """Number of columns of the table."""
        return len(self._columns)

    @property
    def scale(self) -> NDArray[np.float64]:
        """Change of an encoded column for one unit of the table's, shape (width,)."""
        return np.array([2 / (c.high - c.low) for c in self._columns for _ in range(c.width)])

    @property
    def middle(self) -> NDArray[np.float64]:
        """Value of the table's columns where an encoded one is 0, shape (width,)."""
        return np.array([(c.high + c.low) / 2 for c in self._columns for _ in range(c.width)])

    def expand(self, rows: Any) -> NDArray[np.float64]:
        """Rows with clamped numbers and with categories as zeros and ones, shape (rows, width).

        Raises:
            InvalidArgumentError: other columns, a missing value, or one outside the categories.
        """
        found = _names(rows)
        if found != self.names:
            text = f"X has the columns {found}, the model has {self.names}"
            raise InvalidArgumentError(text)
        if self.names is None:
            numbers = plain_array("X", rows, np.float64)
            if numbers.ndim != 2 or numbers.shape[1] != self.count:
                text = f"X has shape {numbers.shape}, wanted (rows, {self.count})"
                raise InvalidArgumentError(text)
            parts = [(f"column {i}", numbers[:, i]) for i in range(self.count)]
        else:
            parts = [(repr(str(name)), rows[name]) for name in rows.columns]
        encoded = [
            (_categories if column.categories else _numbers)(place, values, column)
            for (place, values), column in zip(parts, self._columns, strict=True)
        ]
        return np.concatenate(encoded, axis=1) if encoded else np.zeros((len(rows), 0))

    def encode(self, rows: Any) -> NDArray[np.float64]:
        """Rows as the model trains on them, shape (rows, width); errors of `expand`."""
        return (self.expand(rows) - self.middle) * self.scale


def _names(rows: Any) -> list[str] | None:
    return [str(name) for name in rows.columns] if hasattr(rows, "columns") else None


def _check_columns(names: list[str], bounds: Any) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        text = f"X has the column {twice[0]!r} twice: rename the one that is not meant"
        raise InvalidArgumentError(text)
    unknown = [name for name in bounds if name not in names] if isinstance(bounds, Mapping) else []
    if unknown:
        text = f"bounds has {unknown[0]!r}, which is no column of X: they are {', '.join(names)}"
        raise InvalidArgumentError(text)


def interval_of(name: str, low: Any, high: Any) -> tuple[float, float]:
    """Return two bounds as floats; InvalidArgumentError unless they are finite and increase."""
    low, high = (each.item() if isinstance(each, np.generic) else each for each in (low, high))
    if not (isinstance(low, Real) and isinstance(high, Real) and low < high):
        text = f"{name} = ({low!r}, {high!r}): wanted two numbers, the first one smaller"
        raise InvalidArgumentError(text)
    if not (math.isfinite(low) and math.isfinite(high)):
        text = f"{name} = ({low!r}, {high!r}): wanted finite numbers"
        raise InvalidArgumentError(text)
    return float(low), float(high)


def _interval(place: str, low: Any, high: Any) -> _Column:
    low, high = interval_of(f"bounds of {place}", low, high)
    return _Column(low, high, clamped=True)


def _of_array(rows: NDArray[Any], bounds: Any) -> list[_Column]:
    if rows.ndim != 2:
        text = f"X has shape {rows.shape}, wanted (rows, n_features)"
        raise InvalidArgumentError(text)
    count = rows.shape[1]
    if bounds is None:
        return [_Column()] * count
    if isinstance(bounds, str | Mapping) or not hasattr(bounds, "__len__") or len(bounds) != 2:
        text = "bounds: wanted (low, high), each a number or one for each column of the array X"
        raise InvalidArgumentError(text)
    try:
        low, high = (np.broadcast_to(np.asarray(each), (count,)) for each in bounds)
    except ValueError:
        text = f"bounds: wanted a number or {count} numbers for low and for high"
        raise InvalidArgumentError(text) from None
    return [_interval(f"column {i}", low[i], high[i]) for i in range(count)]


def _of_frame(values: Any, name: str, bounds: Any) -> _Column:
    given = bounds.get(name) if isinstance(bounds, Mapping) else bounds
    dtype = values.dtype
    if given is None:
        if dtype.kind == "b":
            return _interval(repr(name), 0, 1)
        if bounds is None and dtype.kind in "iuf":
            return _Column()
        text = f"bounds lacks the column {name!r}: give (low, high), or the list of its categories"
        raise InvalidArgumentError(text)
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        text = f"bounds of {name!r} = {given!r}: wanted (low, high), or a list of categories"
        raise InvalidArgumentError(text)
    if len(given) == 2 and all(isinstance(each, Real | np.number) for each in given):
        return _interval(repr(name), *given)
    categories = tuple(given)
    if len(set(categories)) != len(categories) or any(map(is_missing, categories)):
        text = f"bounds of {name!r}: a category is missing or there twice"
        raise InvalidArgumentError(text)
    return _Column(low=-1.0, high=1.0, categories=categories)


def _numbers(place: str, values: Any, column: _Column) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        text = f"X, {place}: it holds no numbers. Give the list of its categories in bounds"
        raise InvalidArgumentError(text) from None
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        text = (
            f"X holds {len(wrong)} values that are not finite in {place}, the first in row "
            f"{wrong[0]}: leave such rows out, or fill them in by a rule that needs no data"
        )
        raise InvalidArgumentError(text)
    if column.clamped:
        numbers = np.clip(numbers, column.low, column.high)
    return numbers[:, None]


def _categories(place: str, values: Any, column: _Column) -> NDArray[np.float64]:
    known = {value: i for i, value in enumerate(column.categories)}
    found = [known.get(value, -1) for value in np.asarray(values, dtype=object)]
    places = np.array(found, dtype=np.intp)
    wrong = np.flatnonzero(places < 0)
    if len(wrong):
        text = (
            f"X holds {len(wrong)} values outside the categories of {place}, the first in row "
            f"{wrong[0]}: name all categories, or leave such rows out"
        )
        raise InvalidArgumentError(text)
    return np.eye(len(known))[places]
