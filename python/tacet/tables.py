"""Tables of Python's libraries as a query reads them: columns of texts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .arguments import is_missing
from .errors import InvalidArgumentError

__all__ = ["QueryReading", "plain_value"]

# Keys of a question that name a column, and those with the values that are looked for in it.
_VALUES = {"column": "categories", "event": "event_value", "group": "groups", "label": "positive"}
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
        self._compared_with_truth = set(_columns_with_truth_words(keys))

    def columns(self, site: str, table: Any) -> tuple[list[str], list[list[str]]]:
        """Return names and texts of the columns; those that the query does not read are empty.

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

    def _column(self, site: str, name: Any, values: Any) -> list[str]:
        if not self._reads(str(name)):
            return ["" for _ in values]
        place = f"site {site!r}, column {str(name)!r}"
        listed = _values(place, values)
        if str(name) in self._compared_with_truth and any(
            isinstance(value, bool | np.bool_) for value in listed
        ):
            text = (
                f"{place}: its truth values count as 1 and 0, and the query compares them with a "
                f'word. Write "{name} = 1" in a condition, and 1 or 0 for a value'
            )
            raise InvalidArgumentError(text)
        return [_text(place, value) for value in listed]


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


def _values(place: str, values: Any) -> list[Any]:
    """Values of a column, those of a float32 as such."""
    if hasattr(values, "__array__") and not hasattr(getattr(values, "dtype", None), "kind"):
        values = np.asarray(values)  # a tensor of PyTorch
    dtype: Any = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if getattr(values, "ndim", 1) != 1:
        text = f"{place}: it has {values.ndim} dimensions, wanted one"
        raise TypeError(text)
    if kind in ("m", "M"):
        text = (
            f"{place}: times are no numbers and no texts. Convert them, such as to days after a "
            "public date"
        )
        raise TypeError(text)
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    if kind != "f" or dtype.itemsize >= 8:
        return listed
    narrow = np.dtype(f"f{dtype.itemsize}").type
    return [narrow(value) if isinstance(value, float) else value for value in listed]


def _text(place: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = plain_value(value)
    elif hasattr(value, "tolist") and getattr(value, "shape", None) == ():
        value = value.tolist()  # None where it is masked
    if isinstance(value, str | bytes):
        return value if isinstance(value, str) else value.decode("utf-8")
    if isinstance(value, int):  # True is 1
        return str(int(value))
    if isinstance(value, float) and value.is_integer():  # 1.0 is the category 1
        return str(int(value))
    if not hasattr(value, "__array__") and is_missing(value):
        return ""
    if isinstance(value, float):
        return repr(value)
    text = f"{place}: {value!r} is no number and no text"
    raise TypeError(text)
