"""Owners of rows, as `clipped_sum(groups=)` and `FederatedClassifier.fit(clients=)` take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacet
from tacet.owners import owner_numbers


class Tensor:
    """A tensor of PyTorch as far as dictionaries see it: equal values, hashed by identity."""

    ndim = 1

    def __init__(self, value: Any) -> None:
        self.value = value

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.value == other.value

    def __array__(self) -> np.ndarray:
        return np.array(self.value)

    def tolist(self) -> Any:
        return self.value

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, place: int) -> Tensor:
        return Tensor(self.value[place])


class Series:
    """A pandas Series whose labels are not its positions."""

    def __init__(self, values: list[Any], labels: list[int]) -> None:
        self._values, self._labels = values, labels

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, label: int) -> Any:
        return self._values[self._labels.index(label)]

    def tolist(self) -> list[Any]:
        return self._values


class NotAvailable:
    """pandas.NA: nothing is known about what it equals."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> NotAvailable:  # type: ignore[override]
        return self

    __ne__ = __eq__  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError


@pytest.mark.parametrize(
    "owners",
    [
        [7, 7, 8, 7],
        ["a", "a", "b", "a"],
        [("north", 1), ("north", 1), ("south", 1), ("north", 1)],
        np.array([7, 7, 8, 7]),
        np.array([7, 7, 8, 7], dtype=np.float32),
        np.array(["a", "a", "b", "a"]),
        [np.int64(7), 7, np.int8(8), 7.0],
        np.array([0, 0, 1, 0], dtype="datetime64[ns]"),
        Tensor([7, 7, 8, 7]),
        Series([7, 7, 8, 7], [3, 2, 1, 0]),
    ],
    ids=lambda owners: type(owners).__name__,
)
def test_rows_of_one_owner_have_one_number(owners: Any) -> None:
    assert owner_numbers("groups", owners, 4) == [0, 0, 1, 0]


@pytest.mark.parametrize(
    "owners",
    [
        ["1007", "00001007", "1008", "1007.0"],
        [1007, "1007 ", "1007a", 1007.0],
        ["M\u00fcller", "Mu\u0308ller", "Muller", "M\u00ad\u00fcller"],
        [("north", "07"), ("north\u00a0", 7), ("north", 8), ("north", "7.0")],
        ["\ud800", "\ud800", "\ud801", "\ud800"],
        ["9" * 5000, "0" + "9" * 5000, "9" * 5001, "9" * 5000 + ".0"],
    ],
)
def test_spellings_of_one_owner_have_one_number(owners: Any) -> None:
    assert owner_numbers("groups", owners, 4) == [0, 0, 1, 0]


@pytest.mark.parametrize(
    "owners",
    [
        [1, 1, " \u200b"],
        [1, 1, None],
        [1, 1, float("nan")],
        np.array([1, 1, np.nan]),
        np.ma.masked_array([1, 1, 1], mask=[0, 0, 1]),
        np.array(["2020-01-01", "2020-01-01", "NaT"], dtype="datetime64[D]"),
        [1, 1, NotAvailable()],
        [1, 1, Tensor(1)],
        [1, 1, np.array(1)],
        [1, 1, [1]],
        [1, 1, object()],
        [1, 1, ("north", float("nan"))],
        [1, 1, ("north", Tensor(1))],
    ],
)
def test_an_owner_that_cannot_be_compared_is_refused_by_its_row(owners: Any) -> None:
    with pytest.raises(tacet.InvalidArgumentError, match=r"groups: row 2 has .*leave out rows"):
        owner_numbers("groups", owners, 3)


@pytest.mark.parametrize(
    ("owners", "text"),
    [
        ([1, 2], "groups has 2 values for 3 rows: give one for each row"),
        (np.zeros((3, 1)), "in a list or an array of one dimension"),
        ({0: "a", 1: "a", 2: "b"}, "of type dict: wanted one identifier for each row"),
        ({1, 2, 3}, "of type set"),
    ],
)
def test_other_shapes_are_refused(owners: Any, text: str) -> None:
    with pytest.raises(tacet.InvalidArgumentError, match=text):
        owner_numbers("groups", owners, 3)
