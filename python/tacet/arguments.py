"""Checks of arguments: the error names the argument, its value and what is wanted."""

from __future__ import annotations

import operator
import os
from numbers import Real
from pathlib import Path
from typing import Any

__all__ = ["is_missing", "is_true", "number_of", "path_of", "text_of", "whole_number_of"]


def is_missing(value: Any) -> bool:
    """Return whether a value is None or differs from itself, as NaN, NaT and pandas.NA do.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas.NA: whether it differs is not known
        return True


def is_true(value: Any) -> bool:
    """Return whether a value is Python's or NumPy's True, and not merely something that counts.

    >>> [is_true(value) for value in (True, False, None, 1, [True])]
    [True, False, False, False, False]
    """
    scalar = getattr(value, "shape", None) == () and value.dtype.kind == "b"
    return value is True or (scalar and bool(value))


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


def _fspath(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else None
