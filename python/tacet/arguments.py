"""Checks of arguments: the error names the argument, its value and what is wanted."""

from __future__ import annotations

import inspect
import operator
import os
from collections.abc import Callable, Mapping, Set
from numbers import Integral, Real
from pathlib import Path
from typing import Any

__all__ = [
    "function_of",
    "is_list",
    "is_missing",
    "is_true",
    "list_of",
    "mapping_of",
    "number_of",
    "path_of",
    "short",
    "text_of",
    "truth_of",
    "whole_number_of",
]


def is_missing(value: Any) -> bool:
    """Return whether a value is None or differs from itself, as NaN, NaT and pandas.NA do.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas.NA: whether it differs is not known
        return True


def is_list(value: Any) -> bool:
    """Return whether a value has items in an order and is no text: a list, an array, a Series.

    >>> [is_list(value) for value in ([3], (), "ab", {"a": 1}, 3)]
    [True, True, False, False, False]
    """
    if isinstance(value, str | bytes | Mapping | Set) or getattr(value, "ndim", 1) == 0:
        return False
    return any(hasattr(value, name) for name in ("__iter__", "__array__", "tolist"))


def is_true(value: Any) -> bool:
    """Return whether a value is Python's or NumPy's True, and not merely something that counts.

    >>> [is_true(value) for value in (True, False, None, 1, [True])]
    [True, False, False, False, False]
    """
    return _is_truth(value) and bool(value)


def short(value: Any) -> str:
    """Return the text of a value for a person: a number that is not whole has three digits.

    >>> [short(value) for value in (2 / 3, 1234.5, 4, "record", None)]
    ['0.667', '1234', '4', "'record'", 'None']
    """
    if isinstance(value, Integral) or not isinstance(value, Real):
        return repr(value)
    number = float(value)
    return f"{number:.0f}" if 1000 <= abs(number) < 1e15 else f"{number:.3g}"


def number_of(name: str, value: Any) -> float:
    """Return a number as a float; TypeError for anything else.

    >>> number_of("momentum", 1)
    1.0
    >>> number_of("momentum", "0.9")
    Traceback (most recent call last):
    TypeError: momentum = '0.9': wanted a number
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        text = f"{name} = {value!r}: wanted a number"
        raise TypeError(text)
    return float(value)


def truth_of(name: str, value: Any) -> bool:
    """Return True or False; TypeError for anything else.

    >>> truth_of("resume", "no")
    Traceback (most recent call last):
    TypeError: resume = 'no': wanted True or False
    """
    if not _is_truth(value):
        text = f"{name} = {value!r}: wanted True or False"
        raise TypeError(text)
    return bool(value)


def whole_number_of(name: str, value: Any, *, least: int = 0) -> int:
    """Return a whole number of ``least`` or more; TypeError for anything else.

    >>> whole_number_of("clients", 4)
    4
    >>> whole_number_of("clients", -1)
    Traceback (most recent call last):
    TypeError: clients = -1: wanted a whole number of 0 or more
    """
    text = f"{name} = {value!r}: wanted a whole number of {least} or more"
    if isinstance(value, bool):
        raise TypeError(text)
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(text) from error
    if number < least:
        raise TypeError(text)
    return number


def text_of(name: str, value: Any) -> str:
    """Return a text; TypeError for anything else.

    >>> text_of("server", None)
    Traceback (most recent call last):
    TypeError: server = None: wanted a text
    """
    if not isinstance(value, str):
        text = f"{name} = {value!r}: wanted a text"
        raise TypeError(text)
    return value


def list_of(name: str, value: Any, what: str = "values") -> list[Any]:
    """Return the items of a list, an array or another sequence; TypeError for anything else.

    A text is refused, because its letters would be taken, and so are a mapping and a set, whose
    items have no order.

    >>> list_of("units", (4, 5))
    [4, 5]
    >>> list_of("missing", "NA", "texts")
    Traceback (most recent call last):
    TypeError: missing = 'NA': wanted a list of texts
    """
    if not is_list(value):
        text = f"{name} = {value!r}: wanted a list of {what}"
        raise TypeError(text)
    return list(value)


def mapping_of(name: str, value: Any, what: str) -> Mapping[Any, Any]:
    """Return a mapping; TypeError for anything else.

    >>> mapping_of("columns", ["age"], "a column's bounds by its name")
    Traceback (most recent call last):
    TypeError: columns = ['age']: wanted a mapping, a column's bounds by its name
    """
    if not isinstance(value, Mapping):
        text = f"{name} = {value!r}: wanted a mapping, {what}"
        raise TypeError(text)
    return value


def function_of(name: str, value: Any, *arguments: str) -> Callable[..., Any]:
    """Return a function; TypeError for anything else, or if it does not take these arguments.

    >>> function_of("on_round", 1, "figures")
    Traceback (most recent call last):
    TypeError: on_round = 1: wanted a function, called as on_round(figures)
    >>> function_of("on_round", lambda: None, "figures")
    Traceback (most recent call last):
    TypeError: on_round takes other arguments: it is called as on_round(figures)
    """
    call = f"called as {name}({', '.join(arguments)})"
    if not callable(value):
        text = f"{name} = {value!r}: wanted a function, {call}"
        raise TypeError(text)
    function: Callable[..., Any] = value
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C
        return function
    try:
        signature.bind(*arguments)
    except TypeError:
        text = f"{name} takes other arguments: it is {call}"
        raise TypeError(text) from None
    return function


def path_of(name: str, value: Any) -> Path:
    """Return the path of a file or folder; TypeError or ValueError for what cannot be one.

    >>> path_of("out", b"runs")
    Traceback (most recent call last):
    TypeError: out = b'runs': wanted a text or a pathlib.Path
    """
    if not isinstance(value, (str, Path)) and not isinstance(_fspath(value), str):
        text = f"{name} = {value!r}: wanted a text or a pathlib.Path"
        raise TypeError(text)
    path = Path(value)
    try:
        if "\0" not in str(path) and str(path).encode():
            return path
    except UnicodeEncodeError:
        pass
    text = f"{name} = {str(path)!r} is not the name of a file: leave out NUL and broken characters"
    raise ValueError(text)


def _is_truth(value: Any) -> bool:
    """Whether a value is one of Python's or NumPy's two truth values."""
    scalar = getattr(value, "shape", None) == () and value.dtype.kind == "b"
    return isinstance(value, bool) or scalar


def _fspath(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else None
