"""Owners of rows: the person or the client to whom each row belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _core
from .arguments import is_list, is_missing
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

__all__ = ["owner_numbers", "unit_rows"]

# Python refuses to read longer numbers (sys.get_int_max_str_digits); longer keys stay texts.
_INTEGER_DIGITS = 640


def owner_numbers(name: str, owners: Any, rows: int) -> list[int]:
    """Return the number of each row's owner, from 0 in the order in which owners appear.

    Owners with equal identifiers are one owner, and so are all spellings of one: ``"1007"``,
    ``"00001007"``, ``"1007.0"`` and ``1007``; composed and decomposed letters. A row that cannot
    be compared with the others is refused: its owner would have one more unit than the guarantee
    counts.

    Args:
        name: of the argument, for errors.
        owners: identifier of each row's owner, by position: a list, a NumPy array, a tensor or a
            pandas Series.
        rows: number of rows.

    Raises:
        InvalidArgumentError: there is not one identifier for each row, or one is missing or has no
            value to compare.

    >>> owner_numbers("groups", ["b", "a", "b"], 3)
    [0, 1, 0]
    >>> owner_numbers("groups", ["0007", "7.0", "70"], 3)
    [0, 0, 1]
    """
    if not is_list(owners) or getattr(owners, "ndim", 1) != 1:
        text = (
            f"{name} is of type {type(owners).__name__}: wanted one identifier for each row, in a "
            "list or an array of one dimension"
        )
        raise InvalidArgumentError(text)
    listed = owners.tolist() if hasattr(owners, "tolist") else list(owners)
    if len(listed) != rows:
        text = f"{name} has {len(listed)} values for {rows} rows: give one for each row"
        raise InvalidArgumentError(text)
    numbers: dict[Hashable, int] = {}
    found = []
    for row, owner in enumerate(listed):
        if not _is_identifier(owner):
            text = (
                f"{name}: row {row} has {owner!r}, which identifies nobody. Give a number or a "
                "text for each row, and leave out rows whose owner is not known"
            )
            raise InvalidArgumentError(text)
        found.append(numbers.setdefault(_key(owner), len(numbers)))
    return found


def unit_rows(
    clients: Sequence[int],
    persons: Sequence[int] | None,
    *,
    appearances: int,
    count: int | None = None,
) -> list[tuple[NDArray[np.intp], NDArray[np.intp] | None]]:
    """Return for each client the places of its rows, and where among them each person begins.

    Args:
        clients: number of each row's client, from 0.
        persons: number of each row's person, whose rows follow each other in the result. None: each
            row is a unit, and there are no beginnings.
        appearances: clients at which one person may have rows.
        count: number of clients; None: the largest number, and one.

    Raises:
        InvalidArgumentError: a person has rows at more clients.

    >>> unit_rows([0, 0, 1, 0], [5, 3, 4, 5], appearances=1)
    [(array([1, 0, 3]), array([0, 1])), (array([2]), array([0]))]
    """
    client = np.asarray(clients, dtype=np.intp)
    if count is None:
        count = int(client.max()) + 1
    if persons is None:
        ends = np.cumsum(np.bincount(client, minlength=count))[:-1]
        return [(places, None) for places in np.split(np.argsort(client, kind="stable"), ends)]
    person = np.asarray(persons, dtype=np.intp)
    pairs = np.unique(np.stack([person, client]), axis=1)
    most = int(np.bincount(pairs[0], minlength=1).max())
    if most > appearances:
        text = (
            f"persons: one has rows at {most} clients, and appearances permits {appearances}: the "
            "noise would not hide this person. Raise appearances, or give its rows to one client"
        )
        raise InvalidArgumentError(text)
    found: list[tuple[NDArray[np.intp], NDArray[np.intp] | None]] = []
    for each in range(count):
        places = np.flatnonzero(client == each)
        places = places[np.argsort(person[places], kind="stable")]
        found.append((places, np.flatnonzero(np.diff(person[places], prepend=-1))))
    return found


def _key(owner: Any) -> Hashable:
    """Return what equal owners have in common: of a text its spelling, of its digits a number."""
    if isinstance(owner, tuple):
        return tuple(map(_key, owner))
    if isinstance(owner, frozenset):
        return frozenset(map(_key, owner))
    if not isinstance(owner, str):
        return cast("Hashable", owner)
    key = _core.person_key(owner.encode("utf-8", "surrogatepass"))
    return int(key) if key.isdigit() and len(key) <= _INTEGER_DIGITS else key


def _is_identifier(value: Any) -> bool:
    """Whether equal values are found equal as keys of a dictionary."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_identifier, value))
    if isinstance(value, str):
        return bool(_core.person_key(value.encode("utf-8", "surrogatepass")))
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return False  # tensors are hashed by their place in memory
    hashing: Any = type(value).__hash__
    return hashing not in (None, object.__hash__) and not is_missing(value)
