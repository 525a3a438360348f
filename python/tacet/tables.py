"""Tables of Python's libraries as a query reads them: columns of numbers and of texts."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from . import _core
from .arguments import is_list, is_missing
from .errors import InvalidArgumentError

__all__ = ["QueryReading", "plain_value"]

# Keys of a question that name a column, and those with the values that are looked for in it.
_VALUES = {"column": "categories", "event": "event_value", "group": "groups", "label": "positive"}
_PART = 1 << 16  # rows whose values are Python objects at one time
_DATE_COLUMN = re.compile(r"\s*(?:'([^']*)'|(\S+))\s+date(?:=.*)?")
_DERIVED = re.compile(r".*\sfrom\s+(?:'([^']*)'|(\S+))\s+to\s+(?:'([^']*)'|(\S+))\s*")
_TRUTH_CONDITION = re.compile(r"\s*(.*?)\s*!?=\s*(true|false)\s*", re.IGNORECASE)


def plain_value(value: np.generic) -> Any:
    """Return Python's value for one of NumPy.

    Of a float it is the one that is written alike: 0.1 for a float32 of 0.1.

    >>> plain_value(np.float32(0.1))
    0.1
    """
    return float(str(value)) if isinstance(value, np.floating) else value.item()


class QueryReading:
    """Reading of tables for one query.

    Args:
        query: text of the query (docs/formats/query.md).
    """

    def __init__(self, query: str) -> None:
        try:
            keys = tomllib.loads(query)
        except tomllib.TOMLDecodeError:  # the library says what is wrong with it
            keys = {}
        self._texts = [text.strip(" \t") for text in _texts_in(keys)]
        data = keys.get("data")
        words = _items(data.get("missing")) if isinstance(data, Mapping) else []
        self._missing = [word for word in words if isinstance(word, str)]
        agreed = _items(data.get("values")) if isinstance(data, Mapping) else []
        self._dates = {name for text in agreed for name in _names(_DATE_COLUMN, text)}
        derived = _items(data.get("derived")) if isinstance(data, Mapping) else []
        self._texts += [name for text in derived for name in _names(_DERIVED, text)]
        self._compared_with_truth = set(_columns_with_truth_words(keys))

    def columns(self, site: str, table: Any) -> tuple[list[str], list[_core.Column | int]]:
        """Return names and columns; of one that the query does not read the number of its rows.

        Args:
            site: for errors.
            table: a mapping from column to values, a structured array, or a DataFrame.

        Raises:
            TypeError: the table is none of these, or a column holds no numbers and no texts.
            InvalidArgumentError: the query compares a column of truth values with a word.
        """
        names: Sequence[Any]
        if isinstance(table, Mapping):
            names = list(table)
        elif getattr(getattr(table, "dtype", None), "names", None):
            names = table.dtype.names
        elif hasattr(table, "columns"):
            names = list(table.columns)
        else:
            text = (
                f"site {site!r}: wanted a mapping, a structured array or a DataFrame, "
                f"not {type(table).__name__}"
            )
            raise TypeError(text)
        return [str(name) for name in names], [self._column(site, n, table[n]) for n in names]

    def _reads(self, column: str) -> bool:
        """Return False for a column that no key and no condition of the query can name."""
        name = column.strip(" \t")
        begins = tuple(name + mark for mark in " \t!<>=")  # "age >= 40", "age 20..100"
        return any(text == name or text.startswith(begins) for text in self._texts)

    def _column(self, site: str, name: Any, values: Any) -> _core.Column | int:
        place = f"site {site!r}, column {str(name)!r}"
        if not is_list(values):
            text = f"{place}: wanted a list or an array with a value for each row, not {values!r}"
            raise TypeError(text)
        if not self._reads(str(name)):
            return len(values) if isinstance(values, Sized) else sum(1 for _ in values)
        if getattr(getattr(values, "dtype", None), "kind", "") == "M":
            if str(name) not in self._dates:
                text = (
                    f"{place}: it holds dates. Say so in the query, as in "
                    f'values=["{name} date"], and derive a number from them where one is meant'
                )
                raise TypeError(text)
            values = _days(values)
        array = _array(place, values)
        against_words = str(name) in self._compared_with_truth
        if array is not None:
            if against_words and array.dtype.kind == "b":
                raise _truth_words(place, name)
            mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
            return _core.Column.of_numbers(np.ma.getdata(array), mask, self._missing)
        listed = _values(values)
        if against_words:
            listed = _without_truth(place, name, listed)
        return _core.Column.of_values(listed, lambda value: _plain(place, value), self._missing)


def _truth_words(place: str, name: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{place}: its truth values count as 1 and 0, and the query compares them with a word. "
        f'Write "{name} = 1" in a condition, and 1 or 0 for a value'
    )


def _without_truth(place: str, name: Any, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, bool | np.bool_):
            raise _truth_words(place, name)
        yield value


def _texts_in(value: Any) -> Iterator[str]:
    """Texts at any depth of a parsed file, without its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(part)


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _columns_with_truth_words(keys: Mapping[str, Any]) -> Iterator[Any]:
    """Columns that a question compares with the words True or False."""
    questions = [each for each in _items(keys.get("question")) if isinstance(each, Mapping)]
    axes = [each.get(axis) for each in questions for axis in ("rows", "columns")]
    for part in questions + [axis for axis in axes if isinstance(axis, Mapping)]:
        for condition in _items(part.get("where")):
            found = _TRUTH_CONDITION.fullmatch(str(condition))
            if found is not None:
                yield found[1]
        for column, values in _VALUES.items():
            if any(str(value).lower() in ("true", "false") for value in _items(part.get(values))):
                yield str(part.get(column))


def _names(pattern: re.Pattern[str], text: Any) -> list[str]:
    """Return the columns that a line of the query names."""
    found = pattern.fullmatch(str(text))
    return [name for name in found.groups() if name is not None] if found is not None else []


def _days(values: Any) -> list[str | None]:
    """Return the days of a column of dates as year-month-day; None where one is missing."""
    array = np.asarray(values)
    if array.dtype.kind != "M":  # dates with a time zone: the day there
        return [None if is_missing(day) else day.date().isoformat() for day in array.tolist()]
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.isnat(array)
    texts = np.datetime_as_string(array, unit="D").tolist()
    return [
        None if hidden or text == "NaT" else text for text, hidden in zip(texts, mask, strict=True)
    ]


def _array(place: str, values: Any) -> np.ndarray[Any, Any] | None:
    """Return numbers as an array that can be read in place; None for other columns."""
    if hasattr(values, "__array__") and not hasattr(getattr(values, "dtype", None), "kind"):
        values = np.asarray(values)  # a tensor of PyTorch
    dtype: Any = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if getattr(values, "ndim", 1) != 1:
        text = f"{place}: it has {values.ndim} dimensions, wanted one"
        raise TypeError(text)
    if kind == "m":
        text = f"{place}: times are no numbers and no texts. Convert them, such as to days"
        raise TypeError(text)
    if kind not in ("b", "i", "u", "f") or not isinstance(dtype, np.dtype):
        return None
    array: np.ndarray[Any, Any] = values if isinstance(values, np.ndarray) else np.asarray(values)
    if dtype.itemsize == 2 and kind == "f":
        distinct, rows = np.unique(np.ma.getdata(array), return_inverse=True)
        wide = np.array([plain_value(value) for value in distinct], dtype=np.float64)[rows]
        return np.ma.masked_array(wide, np.ma.getmaskarray(array))
    if dtype.itemsize > 8:
        return array.astype(np.float64)
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def _values(values: Any) -> Iterable[Any]:
    """Values of a column, those of a narrow float as such, never all of them at once."""
    dtype: Any = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") == "f" and dtype.itemsize < 8:
        narrow = np.dtype(f"f{dtype.itemsize}").type
        return (narrow(value) if isinstance(value, float) else value for value in _listed(values))
    return _listed(values)


def _listed(values: Any) -> Iterable[Any]:
    listed: Iterable[Any]
    if not hasattr(values, "tolist"):
        listed = values
        return listed
    rows = values if isinstance(values, np.ndarray) else getattr(values, "iloc", None)
    if rows is None:
        listed = values.tolist()
        return listed
    parts = (rows[first : first + _PART] for first in range(0, len(values), _PART))
    return (value for part in parts for value in part.tolist())


def _plain(place: str, value: Any) -> float | int | str | None:
    """Return a value as a number, a text, or None where it is missing."""
    if isinstance(value, np.generic):
        value = plain_value(value)
    elif hasattr(value, "tolist") and getattr(value, "shape", None) == ():
        value = value.tolist()  # None where it is masked
    if isinstance(value, str | bytes):
        return str(value) if isinstance(value, str) else value.decode("utf-8")
    if isinstance(value, datetime.date) and not is_missing(value):
        return value.isoformat()
    if isinstance(value, int):  # True is 1
        return int(value)
    if not hasattr(value, "__array__") and is_missing(value):
        return None
    if isinstance(value, float):
        return float(value)
    text = f"{place}: {value!r} is no number and no text"
    raise TypeError(text)
