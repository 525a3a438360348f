"""Every argument of the package is checked: the error names it, and says what is wanted.

Each parameter of each function gets an object that it cannot use. Python's own errors about such an
object, and those of the bindings, name no parameter or tell a user nothing.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacet
from tacet import statistics, table_files
from tacet.sklearn import FederatedClassifier, FederatedRegressor

D = 5
CELLS = statistics.Cells(edges=[0, 50, 100])
BOUNDS = {"age": (0, 100)}
RANGE = {"column": "age", "low": 0, "high": 9}
OF_AGE = {"column": "age", "cells": CELLS}
PERSONS = {
    "unit": "person",
    "noise_multiplier": 9,
    "rounds": 1,
}


class Stranger:
    """An object of no use."""

    def __repr__(self) -> str:
        return "<stranger>"


def fit(make: Callable[..., Any], given: dict[str, Any]) -> Callable[..., Any]:
    """A fit that takes the constructor's arguments."""

    def call(**options: Any) -> Any:
        model = make(**{**PERSONS, **given, **options})
        rows = np.zeros((4, 2))
        return model.fit(rows, [0, 1, 0, 1], clients=[0, 0, 1, 1], persons=[0, 1, 2, 3])

    return call


def fit_call(**options: Any) -> Any:
    model = FederatedClassifier(**PERSONS, classes=[0, 1])
    return model.fit(**{
        "X": np.zeros((4, 2)), "y": [0, 1, 0, 1], "clients": [0, 0, 1, 1],
        "persons": [0, 1, 2, 3], **options,
        **({"clients": None} if options.get("member") is not None else {}),
    })


FITTED = statistics.Answer("ill", "glm", tuple(
    statistics.Estimate(quantity, group, "", 0.5, 0.1, 0.2, 0, 1)
    for quantity, group in (("intercept", ""), ("coefficient", "age"), ("odds ratio", "age"))
), ())  # fmt: skip

# Function, whose signature names the arguments, and what is right.
FUNCTIONS: list[tuple[str, Callable[..., Any], Callable[..., Any], dict[str, Any]]] = [
    *((function.__name__, function, function, given) for function, given in (
        (tacet.Privacy, {"noise_multiplier": 2}),
        (tacet.Session, {"budget_epsilon": 3, "unit": "record"}),
        (tacet.open_run, {}),
        (tacet.Member, {"home": "home", "server": "host:1", "data": "data"}),
        (tacet.RelayServer, {"home": "home"}),
        (tacet.calibrate, {"target_epsilon": 1, "clients": 9}),
        (statistics.total, RANGE),
        (statistics.mean, RANGE),
        (statistics.variance, RANGE),
        (statistics.normalise, {"columns": BOUNDS}),
        (statistics.histogram, OF_AGE),
        (statistics.quantiles, OF_AGE),
        (statistics.median, OF_AGE),
        (statistics.crosstab, {"row": "age", "row_cells": CELLS, "column": "age",
                               "column_cells": CELLS}),
        (statistics.table1, {"columns": BOUNDS}),
        (statistics.survival, {"time": "age", "cells": CELLS, "event": "ill", "event_value": 1}),
        (statistics.evaluation, {"score": "age", "cells": CELLS, "label": "ill", "positive": 1}),
        (statistics.proportion, {"column": "age", "positive": 1}),
        (statistics.regression, {"columns": BOUNDS, "label": "ill", "positive": 1}),
        (statistics.glm, {"formula": "age ~ sex", "columns": BOUNDS}),
        (statistics.cox, {"formula": "age", "columns": BOUNDS, "time": "age", "cells": CELLS,
                          "event": "ill", "event_value": 1}),
        (statistics.calibration, {
            "model": statistics.glm("ill ~ age", {"ill": (0, 1), "age": (0, 9)}, family="binomial"),
            "fitted": FITTED, "cells": CELLS, "label": "ill", "positive": 1,
        }),
        (statistics.query_text, {"questions": [statistics.count()], "target_epsilon": 1}),
        (statistics.open_release, {}),
        (statistics.ask, {"tables": {"north": {}}, "questions": [statistics.count()]}),
        (statistics.ask_file, {"tables": {"north": {}}, "query": __file__}),
        (table_files.read, {"path": "table.xlsx"}),
        (table_files.write_csv, {"path": "table.xlsx", "out": "table.csv"}),
    )),
    ("simulate", tacet.simulate, tacet.simulate, {
        "train": lambda model, client, units, clip_norm: model, "clients": 2,
        "initial": np.zeros(D, dtype=np.float32), "rounds": 1, "units": [3, 3],
        "privacy": tacet.Privacy(noise_multiplier=2, unit="person", record_rate=1,
                                 coordinate_bound=2),
    }),
    ("classifier", FederatedClassifier, fit(FederatedClassifier, {"classes": [0, 1]}), {}),
    ("regressor", FederatedRegressor, fit(FederatedRegressor, {"target_bounds": (0, 1)}), {}),
    ("fit", FederatedClassifier.fit, fit_call, {}),
    ("cells", statistics.Cells, lambda **given: statistics.Cells(**given).keys(), {}),
    ("explain", tacet.Guarantee.explain,
     lambda **given: tacet.guarantee(clients=9, noise_multiplier=9).explain(**given), {}),
]  # fmt: skip

# A workbook's sheet is looked for when the file is read; any object is a table's name of no sheet.
LEFT_OUT = {("read", "sheet"), ("write_csv", "sheet")}


def arguments() -> Iterator[Any]:
    for name, signature, call, given in FUNCTIONS:
        for parameter in inspect.signature(signature).parameters.values():
            named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if named and parameter.name != "self" and (name, parameter.name) not in LEFT_OUT:
                yield pytest.param(call, given, parameter.name, id=f"{name}-{parameter.name}")


@pytest.mark.parametrize(("call", "given", "name"), arguments())
def test_an_argument_of_no_use_is_refused_by_name(
    call: Callable[..., Any], given: dict[str, Any], name: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError)) as raised:
        call(**{**given, name: Stranger()})
    text = str(raised.value)
    assert re.search(rf"\b{name}\b", text), text
    for unhelpful in ("object is not", "has no attribute", "incompatible function arguments",
                      "not supported between", "got an unexpected keyword"):  # fmt: skip
        assert unhelpful not in text, text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", ["name", "where", "sites", "share"])
def test_a_question_s_common_keys_are_checked(key: str) -> None:
    with pytest.raises(TypeError, match=f"{key} = <stranger>: wanted a"):
        statistics.count(**{key: Stranger()})
