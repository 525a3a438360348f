"""Checks of arguments: the error names the argument, its value and what is wanted."""

from __future__ import annotations

import operator
from numbers import Real
from typing import Any

__all__ = ["number_of", "whole_number_of"]


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


def whole_number_of(name: str, value: Any) -> int:
    """Return a whole number of 0 or more; TypeError for anything else.

    >>> whole_number_of("clients", 4)
    4
    >>> whole_number_of("clients", -1)
    Traceback (most recent call last):
    TypeError: clients = -1: wanted a whole number of 0 or more
    """
    text = f"{name} = {value!r}: wanted a whole number of 0 or more"
    if isinstance(value, bool):
        raise TypeError(text)
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(text) from error
    if number < 0:
        raise TypeError(text)
    return number
