"""Statistics over the tables of several sites, with one guarantee for all answers together.

Each site's rows become a clipped vector. The vectors are noised, sealed, added and decrypted as in
``tacet statistics``, whose run directory this module writes::

    from tacet import statistics

    release = statistics.ask(
        {"aachen": {"age": ages, "sex": sexes}, "bonn": frame},
        [
            statistics.count(name="women", where=["sex = f"]),
            statistics.mean("age", low=20, high=100),
        ],
        values=["sex one-of=f|F|female,m|M|male"],
        target_epsilon=1,
    )
    print(release, release["women"]["count"].value)

Import it by its name, as ``tacet.torch``. Every constant of a question is public: choose bounds,
edges and categories by knowledge of the field, never by looking at the data.
"""

from __future__ import annotations

import datetime
import importlib
import inspect
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from . import _core, table_files
from .answer_plot import plot_answer
from .arguments import (
    list_of,
    mapping_of,
    number_of,
    path_of,
    short,
    text_of,
    truth_of,
    whole_number_of,
)
from .errors import InvalidArgumentError
from .run_folder import run_folder
from .session import Session, budget_of
from .tables import QueryReading, plain_value

if TYPE_CHECKING:
    from typing import Unpack

__all__ = [
    "Answer",
    "Cells",
    "Common",
    "Estimate",
    "Question",
    "Release",
    "ask",
    "ask_file",
    "calibration",
    "count",
    "cox",
    "crosstab",
    "evaluation",
    "glm",
    "histogram",
    "mean",
    "median",
    "normalise",
    "open_release",
    "proportion",
    "quantiles",
    "query_text",
    "regression",
    "survival",
    "table1",
    "total",
    "variance",
]

Field = str | int | float

_TOO_MANY = "  <- more than 5 % of the rows were left out"


@dataclass(frozen=True)
class Question:
    """One question of a query: its keys, as docs/formats/query.md has them."""

    keys: Mapping[str, Any]

    def __repr__(self) -> str:
        keys = ", ".join(f"{key} = {_toml(key, value)}" for key, value in self.keys.items())
        return f"<Question {keys}>"


@dataclass(frozen=True)
class Cells:
    """Cells of a column: intervals between edges, equal bins, or categories.

    Attributes:
        edges: increasing; the last interval holds both of its ends. Numbers, or for a column of
            dates ``datetime.date`` or texts such as "2025-01-31".
        bins: number of equal intervals from ``low`` to ``high``, instead.
        low: lower end of the bins. None: 0.
        high: upper end of the bins.
        categories: values of the column, instead.
    """

    edges: Sequence[float] | Sequence[str] | Sequence[datetime.date] | None = None
    bins: int | None = None
    low: float | None = None
    high: float | None = None
    categories: Sequence[Field] | None = None

    def keys(self) -> dict[str, Any]:
        """Keys of docs/formats/query.md that were given."""
        keys: dict[str, Any] = {
            "edges": _edges(self.edges),
            "bins": None if self.bins is None else whole_number_of("bins", self.bins),
            "low": None if self.low is None else number_of("low", self.low),
            "high": None if self.high is None else number_of("high", self.high),
            "categories": (
                None
                if self.categories is None
                else [
                    _value("categories", each)
                    for each in list_of("categories", self.categories, "numbers and texts")
                ]
            ),
        }
        return {key: value for key, value in keys.items() if value is not None}


@dataclass(frozen=True, repr=False)
class Estimate:
    """One number of an answer.

    Attributes:
        quantity: its name: "count", "mean", "survival", …
        group: subgroup or column; empty: all.
        at: cell, quantile, time or edge; empty: the answer has one such number.
        value: the estimate; None when it is suppressed, because a count that it follows from is
            below the floor.
        noise_error: standard deviation from noise and quantisation alone. NaN, as the next three,
            where the number has none.
        standard_error: with the sampling error of the rows.
        low: lower end of the confidence interval.
        high: its upper end; infinite where nothing bounds the number.
        too_many: of rows that were left out: whether they are more than 5 % of all that were asked
            for, and more than the noise explains.
    """

    quantity: str
    group: str
    at: str
    value: float | None
    noise_error: float
    standard_error: float
    low: float
    high: float
    too_many: bool = False

    @property
    def suppressed(self) -> bool:
        """Whether a count that it follows from is below the floor."""
        return self.value is None

    def __repr__(self) -> str:
        what = " ".join(part for part in (self.quantity, self.group, self.at) if part)
        if self.value is None:
            return f"<Estimate {what}: suppressed>"
        interval = "" if math.isnan(self.low) else f" ({short(self.low)} to {short(self.high)})"
        return f"<Estimate {what}: {short(self.value)}{interval}>"


@dataclass(frozen=True, repr=False)
class Answer:
    """Answer to one question.

    Attributes:
        name: of the question.
        kind: of the question.
        estimates: all numbers, in the order of docs/formats/query.md.
        methods: estimators and post-processing, by name.
        edges: of the question's cells, where it has one list of ordered ones.
        printed: of a `table1`, the table as its JSON has it (docs/formats/query.md); else None.
        confidence: of the intervals.
        covariance: of a model, row by row, as `cov_params` returns it; else empty.
    """

    name: str
    kind: str
    estimates: tuple[Estimate, ...]
    methods: tuple[str, ...]
    edges: tuple[float, ...] = ()
    printed: Mapping[str, Any] | None = None
    confidence: float = 0.95
    covariance: tuple[tuple[float, ...], ...] = ()

    def cov_params(self) -> np.ndarray:
        """Return the covariance of a model's intercept and coefficients, in the answer's order.

        It holds noise and sampling, and its diagonal has the squares of the standard errors. The
        variance of a sum ``w @ coefficients`` is ``w @ answer.cov_params() @ w``.

        Raises:
            ValueError: the answer has no coefficients with errors, or they are suppressed.
        """
        if not self.covariance:
            text = f"the answer {self.name!r} ({self.kind}) shows no coefficients with errors"
            raise ValueError(text)
        return np.array(self.covariance)

    def table(self) -> list[dict[str, str]]:
        """Return the lines of a `table1` as a paper prints them.

        A line has the key "characteristic", such as "age, mean (sd)" or "sex = F, n (%)", a key for
        each group, and "noise": the standard deviation that the noise gives the first number of the
        line, the largest of the groups. "✕" stands where a number is suppressed.

        Raises:
            ValueError: the answer is of another kind.
        """
        if self.printed is None:
            text = f"the answer {self.name!r} is of kind {self.kind}: only table1 has a table"
            raise ValueError(text)
        groups = self.printed["groups"]
        return [
            {
                "characteristic": row["name"],
                **dict(zip(groups, row["cells"], strict=True)),
                "noise": row["noise"],
            }
            for row in self.printed["rows"]
        ]

    def frame(self) -> Any:
        """Return `table` as a pandas DataFrame, one row a characteristic.

        Raises:
            ValueError: the answer is of another kind.
            ModuleNotFoundError: pandas is not installed.
        """
        pandas = importlib.import_module("pandas")
        return pandas.DataFrame(self.table()).set_index("characteristic")

    def to_table(self, markup: str = "markdown") -> str:
        """Return the table of a paper: of a `table1`, or of a model with intervals.

        A model has a line for each odds, rate or hazard ratio, or where it has none for intercept
        and coefficients: its interval, and the error of the noise. ``tacet report --tables`` writes
        the same. Names are shown unchanged, whatever characters they have.

        Args:
            markup: "markdown", "html", "latex" or "csv". LaTeX needs no package. A spreadsheet
                takes no text of the CSV for a formula.

        Raises:
            ValueError: the answer has no such table.
            InvalidArgumentError: the markup is another one.
        """

        def known(number: float) -> float | None:
            return None if math.isnan(number) else number

        printed = None
        if self.printed is not None:
            rows = [(row["name"], row["cells"], row["noise"]) for row in self.printed["rows"]]
            printed = (self.printed["by"], self.printed["groups"], rows)
        estimates = [
            (e.quantity, e.group, e.value, known(e.noise_error), known(e.low), known(e.high))
            for e in self.estimates
        ]
        text = _core.paper_table(self.name, estimates, printed, self.confidence, markup)
        if text is None:
            text = (
                f"the answer {self.name!r} is of kind {self.kind}: only table1 and models with "
                "intervals have a table"
            )
            raise ValueError(text)
        return text

    def find(
        self, quantity: str, *, group: str | None = None, at: str | None = None
    ) -> list[Estimate]:
        """Return the estimates of a quantity, of one group and one place if these are given."""
        return [
            estimate
            for estimate in self.estimates
            if estimate.quantity == quantity
            and (group is None or estimate.group == group)
            and (at is None or estimate.at == at)
        ]

    def __getitem__(self, quantity: str) -> Estimate:
        """Return the one estimate of a quantity that has no group and no place."""
        found = self.find(quantity, group="", at="")
        if len(found) == 1:
            return found[0]
        known = ", ".join(dict.fromkeys(estimate.quantity for estimate in self.estimates))
        text = (
            f"the answer {self.name!r} has no single {quantity!r}; use find(quantity, group=, at=)."
            f" It has: {known}"
        )
        raise KeyError(text)

    def plot(self, axes: Any = None, *, what: str | None = None) -> Any:
        """Draw the answer with its intervals; needs matplotlib.

        Counts of a histogram or crosstab are bars with whiskers. A survival has bands and the
        numbers at risk. An evaluation has a ROC curve with a band, and its calibration. Quantiles
        have their intervals and the edges of the cells. A model has a forest plot: its ratios on a
        logarithmic axis, else its coefficients. Proportional hazards also have the survival of
        their profiles, and the changes of coefficients where they are checked. ✕ marks what is
        suppressed. A notebook shows the figure. In a program,
        ``answer.plot().figure.savefig("answer.pdf", bbox_inches="tight")`` stores it; the report of
        ``tacet report`` has the same pictures.

        Args:
            axes: matplotlib axes to draw into. None: new ones.
            what: of an evaluation, "roc" or "calibration"; of a model, "coefficients"; of `cox`
                also "survival" and "changes". None: the first.

        Returns:
            The axes.

        Raises:
            ValueError: answers of this kind have no plot, or none of this name.
            ModuleNotFoundError: matplotlib is not installed.
        """
        return plot_answer(self, axes, what)

    def __repr__(self) -> str:
        return f"<Answer {self.name!r} ({self.kind}), {len(self.estimates)} estimates>"

    def __str__(self) -> str:
        lines = [f"{self.name} ({self.kind})"]
        if self.printed is not None:
            rows = [list(row.values()) for row in self.table()]
            rows.insert(0, ["", *self.printed["groups"], "noise"])
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        for estimate in self.estimates:
            if self.printed is not None and not estimate.quantity.startswith("left"):
                continue
            what = " ".join(
                part for part in (estimate.quantity, estimate.group, estimate.at) if part
            )
            number = "suppressed" if estimate.value is None else f"{estimate.value:.6g}"
            if not math.isnan(estimate.low):
                number += f"  ({estimate.low:.6g} to {estimate.high:.6g})"
            lines.append(f"  {what:<40} {number}{_TOO_MANY if estimate.too_many else ''}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Release:
    """Answers to all questions of a query, with one guarantee.

    Attributes:
        path: run directory, which ``tacet report`` and ``tacet audit`` read; None: it was not kept.
        answers: by the question's name, in the order of the questions.
        confidence: of all intervals.
        noise_law: "gaussian" or "discrete-laplace".
        summary: content of ``summary.json``.
        missing: why data of a site are not in the answers, "budget" or "policy", by the site's
            name. Empty in one process.
    """

    path: Path | None
    answers: dict[str, Answer]
    confidence: float
    noise_law: str
    summary: dict[str, Any]
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def epsilon(self) -> float | None:
        """Epsilon of the worst observer for all answers together; None without a guarantee."""
        worst: dict[str, Any] | None = self.summary["privacy"].get("worst")
        return None if worst is None else worst["epsilon"]

    @property
    def delta(self) -> float:
        """The delta at which epsilon is stated."""
        return float(self.summary["delta"])

    def __getitem__(self, name: str) -> Answer:
        """Return the answer to the question of this name."""
        if name not in self.answers:
            text = f"no question is called {name!r}; there are {', '.join(self.answers)}"
            raise KeyError(text)
        return self.answers[name]

    def __iter__(self) -> Iterator[Answer]:
        """Answers in the order of the questions."""
        return iter(self.answers.values())

    def __len__(self) -> int:
        return len(self.answers)

    def __str__(self) -> str:
        lines = [str(answer) for answer in self]
        lines += [f"no data of {site} ({cause})" for site, cause in self.missing.items()]
        if self.epsilon is not None:
            cost = f"epsilon {self.epsilon:.3f} at delta {self.delta:g}"
            lines.append(f"{cost}, {self.noise_law} noise")
        return "\n".join(lines)

    def __repr__(self) -> str:
        kept = "not kept" if self.path is None else self.path
        epsilon = "none" if self.epsilon is None else f"{self.epsilon:.3g}"
        return f"<Release {kept}, {len(self)} answers, epsilon {epsilon}>"


class Common(TypedDict, total=False):
    """Keys of every question."""

    name: str
    """Of the question; without it "question-1" and so on."""
    where: Sequence[str]
    """Conditions that all must hold, such as "age >= 40" or "sex = f"."""
    sites: Sequence[str]
    """Names of the sites whose rows count; without it all."""
    share: float
    """Of the privacy, relative to the other questions; without it 1."""


def _list(name: str, values: Any, what: str = "numbers and texts") -> list[Any] | None:
    return None if values is None else list_of(name, values, what)


def _texts(name: str, values: Any) -> list[str] | None:
    if values is None:
        return None
    return [text_of(name, text) for text in list_of(name, values, "texts")]


_COMMON: dict[str, Callable[[str, Any], Any]] = {
    "name": lambda name, value: None if value is None else text_of(name, value),
    "where": _texts,
    "sites": _texts,
    "share": lambda name, value: None if value is None else number_of(name, value),
}


def _question(kind: str, keys: Mapping[str, Any], common: Common) -> Question:
    all_keys: dict[str, Any] = {"kind": kind, **keys}
    for key, value in common.items():
        if key not in _COMMON:
            text = f"unknown key {key}: expected one of {', '.join(_COMMON)}"
            raise TypeError(text)
        all_keys[key] = _COMMON[key](key, value)
    return Question({key: value for key, value in all_keys.items() if value is not None})


def _value(name: str, value: Any) -> Any:
    """Return a value of a column: a text, or a number; TypeError for anything else."""
    if not isinstance(value, str | Real | np.generic):
        text = f"{name} = {value!r}: wanted a value of the column, a text or a number"
        raise TypeError(text)
    return value


def _numbers(name: str, values: Sequence[float] | None) -> list[float] | None:
    listed = _list(name, values, "numbers")
    return None if listed is None else [number_of(name, value) for value in listed]


def _edges(values: Sequence[Any] | None) -> list[float] | list[str] | None:
    listed = _list("edges", values, "numbers or dates")
    if listed and isinstance(listed[0], str | datetime.date):
        return [day.isoformat() if isinstance(day, datetime.date) else str(day) for day in listed]
    return _numbers("edges", listed)


def _within(column: str, low: float, high: float) -> dict[str, Any]:
    return {
        **_column(column),
        "low": number_of("low", low),
        "high": number_of("high", high),
    }


def _column(column: str) -> dict[str, Any]:
    return {"column": text_of("column", column)}


def _cells(name: str, cells: Cells) -> dict[str, Any]:
    if not isinstance(cells, Cells):
        text = f"{name} = {cells!r}: wanted Cells(edges=...), or Cells(categories=...)"
        raise TypeError(text)
    return cells.keys()


def count(**common: Unpack[Common]) -> Question:
    """Ask for the number of rows."""
    return _question("count", {}, common)


def total(
    column: str,
    *,
    low: float,
    high: float,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for the sum of a column whose values are cut to [low, high].

    Args:
        column: name of the column.
        low: public lower bound of its values; smaller ones count as `low`.
        high: public upper bound, above `low`.
        group: column of subgroups. None: all rows together.
        groups: its values. None: its agreed values.
        **common: keys of every question (`Common`).
    """
    keys = {**_within(column, low, high), **_groups(group, groups)}
    return _question("sum", keys, common)


def mean(
    column: str,
    *,
    low: float,
    high: float,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for count, sum and mean of a column whose values are cut to [low, high].

    Args:
        column: name of the column.
        low: public lower bound of its values; smaller ones count as `low`.
        high: public upper bound, above `low`.
        group: column of subgroups. None: all rows together.
        groups: its values. None: its agreed values.
        **common: keys of every question (`Common`).
    """
    keys = {**_within(column, low, high), **_groups(group, groups)}
    return _question("mean", keys, common)


def variance(
    column: str,
    *,
    low: float,
    high: float,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for count, sum, mean, variance and standard deviation of a column.

    Args:
        column: name of the column.
        low: public lower bound of its values; smaller ones count as `low`.
        high: public upper bound, above `low`.
        group: column of subgroups. None: all rows together.
        groups: its values. None: its agreed values.
        **common: keys of every question (`Common`).
    """
    keys = {**_within(column, low, high), **_groups(group, groups)}
    return _question("variance", keys, common)


def normalise(columns: Mapping[str, tuple[float, float]], **common: Unpack[Common]) -> Question:
    """Ask for the variance of several columns, given with their bounds, for scaling them."""
    return _question("normalise", {"columns": _bounded(columns)}, common)


def histogram(
    column: str,
    cells: Cells,
    *,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for the count of all rows and of each cell, and in groups for the share of each cell.

    Args:
        column: name of the column.
        cells: its public edges or categories.
        group: column of subgroups. None: all rows together.
        groups: its values. None: its agreed values.
        **common: keys of every question (`Common`).
    """
    keys = {**_column(column), **_cells("cells", cells), **_groups(group, groups)}
    return _question("histogram", keys, common)


def crosstab(
    row: str, row_cells: Cells, column: str, column_cells: Cells, **common: Unpack[Common]
) -> Question:
    """Ask for the count of each pair of cells of two columns.

    Args:
        row: column whose cells are the rows of the table.
        row_cells: its public edges or categories.
        column: column whose cells are the columns of the table.
        column_cells: its public edges or categories.
        **common: keys of every question (`Common`).
    """
    keys = {
        "rows": {"column": text_of("row", row), **_cells("row_cells", row_cells)},
        "columns": {**_column(column), **_cells("column_cells", column_cells)},
    }
    return _question("crosstab", keys, common)


def quantiles(
    column: str,
    cells: Cells,
    *,
    at: Sequence[float] = (0.25, 0.5, 0.75),
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for quantiles of a column, resolved to ordered cells.

    Args:
        column: name of the column.
        cells: its public edges, ascending.
        at: the quantiles, each between 0 and 1.
        group: column of subgroups. None: all rows together.
        groups: its values. None: its agreed values.
        **common: keys of every question (`Common`).
    """
    keys = {**_column(column), **_cells("cells", cells), "quantiles": _numbers("at", at)}
    return _question("quantiles", {**keys, **_groups(group, groups)}, common)


def median(
    column: str,
    cells: Cells,
    *,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for the median of a column, resolved to ordered cells.

    Args:
        column: name of the column.
        cells: ordered cells, as for `quantiles`.
        group: column of subgroups. None: all rows together.
        groups: its values. None: its agreed values.
        **common: keys of every question (`Common`).
    """
    keys = {**_column(column), **_cells("cells", cells), **_groups(group, groups)}
    return _question("median", keys, common)


def table1(
    columns: Mapping[str, tuple[float, float] | None],
    *,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for the baseline characteristics of each group, as the first table of a paper has them.

    Answers have them as `Answer.table` and `Answer.frame`.

    Args:
        columns: the variables in the table's order. One with bounds (low, high) has numbers: their
            mean (sd) and median [IQR]. One with None has agreed values (``values``): n (%) of each.
        group: column of the groups. None: all rows together.
        groups: its values. None: its agreed values.
        **common: keys of every question (`Common`).
    """
    return _question("table1", {"columns": _variables(columns), **_groups(group, groups)}, common)


def survival(
    time: str,
    cells: Cells,
    *,
    event: str,
    event_value: Field,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for survival and cumulative hazard, and the log-rank test of groups.

    Args:
        time: column with the time of the event or of the last look.
        cells: intervals of the time, from 0.
        event: column that says whether the event happened.
        event_value: its value where it did.
        group: column of the groups. None: all rows together.
        groups: its values.
        **common: keys of every question (`Common`).
    """
    keys = {
        "time": text_of("time", time),
        **_cells("cells", cells),
        "event": text_of("event", event),
        "event_value": _value("event_value", event_value),
    }
    return _question("survival", {**keys, **_groups(group, groups)}, common)


def evaluation(
    score: str,
    cells: Cells,
    *,
    label: str,
    positive: Field,
    threshold: float | None = None,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for the quality of scores: confusion, ROC, precision, calibration.

    Args:
        score: column with scores in [0, 1] (``tacet data score`` makes one).
        cells: intervals of the score.
        label: column with the outcome.
        positive: its value for class 1.
        threshold: an edge at which scores count as positive. None: 0.5.
        group: column of subgroups. None: all rows together.
        groups: its values.
        **common: keys of every question (`Common`).
    """
    keys = {
        "score": text_of("score", score),
        **_cells("cells", cells),
        "label": text_of("label", label),
        "positive": _value("positive", positive),
    }
    if threshold is not None:
        keys["threshold"] = number_of("threshold", threshold)
    return _question("evaluation", {**keys, **_groups(group, groups)}, common)


def calibration(
    model: Question,
    fitted: Answer,
    cells: Cells,
    *,
    label: str,
    positive: Field,
    threshold: float | None = None,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for the quality of a logistic model's risks: `evaluation` without a column of scores.

    The question holds the released coefficients, so each site computes the risks of its own rows.
    It is a query of its own, with a charge of its own. Rows that the model was fitted to make it
    look too good: ask other rows or sites (``where``, ``sites``).

    Args:
        model: the question, made by `glm` with family "binomial".
        fitted: its answer.
        cells: intervals of the risk.
        label: column with the outcome.
        positive: its value for class 1.
        threshold: an edge at which risks count as positive. None: 0.5.
        group: column of subgroups. None: all rows together.
        groups: its values.
        **common: keys of every question (`Common`).

    Raises:
        ValueError: the model is no logistic one, or its coefficients are suppressed.
    """
    if not isinstance(model, Question):
        text = f"model = {model!r}: wanted the question, made by glm"
        raise TypeError(text)
    if not isinstance(fitted, Answer):
        text = f"fitted = {fitted!r}: wanted the answer to the model's question"
        raise TypeError(text)
    if model.keys.get("family") != "binomial":
        text = 'model is no logistic one: make it with glm(..., family="binomial")'
        raise ValueError(text)
    written = re.fullmatch(r"\s*(`[^`]*`|[^~`]*?)\s*~\s*(.*)", model.keys["formula"], re.DOTALL)
    if written is None:
        text = f"the formula {model.keys['formula']!r} has no response"
        raise ValueError(text)
    name, terms = written[1].strip("`"), written[2]
    found = [*fitted.find("intercept"), *fitted.find("coefficient")]
    coefficients = [each.value for each in found if each.value is not None]
    if not fitted.find("odds ratio"):
        text = f"{fitted.name!r} ({fitted.kind}) is no answer of a logistic model"
        raise ValueError(text)
    if not found or len(coefficients) < len(found):
        text = f"the coefficients of {fitted.name!r} are suppressed"
        raise ValueError(text)
    keys = {
        "formula": terms,
        "columns": [
            each
            for each in model.keys["columns"]
            if name != (each.rpartition(" ")[0] if ".." in each else each)
        ],
        "coefficients": coefficients,
        "terms": [each.group for each in fitted.find("coefficient")],
        **_cells("cells", cells),
        "label": text_of("label", label),
        "positive": _value("positive", positive),
    }
    if threshold is not None:
        keys["threshold"] = number_of("threshold", threshold)
    return _question("evaluation", {**keys, **_groups(group, groups)}, common)


def proportion(
    column: str,
    positive: Field,
    *,
    group: str | None = None,
    groups: Sequence[Field] | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for the proportion of rows with a value, among all rows whose field can be read.

    Args:
        column: name of the column.
        positive: the value. A text needs the agreed values of the column (``values``).
        group: column of subgroups. None: all rows together.
        groups: its values.
        **common: keys of every question (`Common`).
    """
    keys = {
        **_column(column),
        "positive": _value("positive", positive),
        **_groups(group, groups),
    }
    return _question("proportion", keys, common)


def regression(
    columns: Mapping[str, tuple[float, float]],
    *,
    label: str,
    positive: Field,
    **common: Unpack[Common],
) -> Question:
    """Ask for the linear discriminant of a label: intercept and coefficients, without intervals.

    Args:
        columns: 1 to 32 columns with the bounds to which their values are cut.
        label: column with the outcome.
        positive: its value for class 1.
        **common: keys of every question (`Common`).
    """
    keys = {
        "columns": _bounded(columns),
        "label": text_of("label", label),
        "positive": _value("positive", positive),
    }
    return _question("regression", keys, common)


def glm(
    formula: str,
    columns: Mapping[str, tuple[float, float] | None],
    *,
    family: str = "gaussian",
    exposure: str | None = None,
    **common: Unpack[Common],
) -> Question:
    """Ask for a linear, logistic or Poisson model: coefficients with intervals, and deviances.

    Args:
        formula: as in R, ``"bmi ~ age * sex + log(crp)"``: columns, ``log(column)``, ``+``, ``:``
            and ``*``; a column with other characters between backticks.
        columns: each column of the formula with the bounds to which its values are cut, or None for
            a column with agreed values (``values``), of which the first is the reference.
        family: "gaussian", least squares, from one release; "binomial", a logistic curve with odds
            ratios, from four; or "poisson", rates with their ratios, from four. The response of the
            second has two agreed values, of which the second is the event, or bounds 0 and 1. That
            of the third is a count with the bounds 0 and at least twice the largest mean. Models of
            one and of four releases need a query each.
        exposure: of family "poisson", a column of ``columns`` with bounds above 0: the means are in
            proportion to it.
        **common: keys of every question (`Common`).
    """
    keys = {
        "formula": text_of("formula", formula),
        "family": text_of("family", family),
        "columns": _variables(columns),
    }
    if exposure is not None:
        keys["exposure"] = text_of("exposure", exposure)
    return _question("glm", keys, common)


def cox(
    formula: str,
    columns: Mapping[str, tuple[float, float] | None],
    *,
    time: str,
    cells: Cells,
    event: str,
    event_value: Field,
    strata: str | None = None,
    profiles: Sequence[str] | None = None,
    check: bool = False,
    **common: Unpack[Common],
) -> Question:
    """Ask for proportional hazards: hazard ratios with intervals and baseline survival.

    Args:
        formula: what explains the hazard, ``"age * sex + log(nodes)"``, written as in `glm`.
        columns: each column of the formula, as in `glm`.
        time: column with the time of the event or of the last look.
        cells: intervals of the time, from 0, in each of which the baseline hazard is constant; few
            ones need fewer rows. ``Cells(high=10)`` makes three: up to a sixth, a third and all.
        event: column that says whether the event happened.
        event_value: its value where it did.
        strata: "sites": each of ``sites`` has hazards of its own. None: all have the same.
        profiles: rows whose survival is told, as ``"age = 50, sex = f"``; columns that are not told
            are in the middle of their bounds, or at their first value. They cost nothing.
        check: whether hazards are proportional: how much each coefficient changes from the first
            interval to the last, and a test that none does. It costs 11 % more noise.
        **common: keys of every question (`Common`).
    """
    keys: dict[str, Any] = {
        "time": text_of("time", time),
        **_cells("cells", cells),
        "event": text_of("event", event),
        "event_value": _value("event_value", event_value),
        "formula": text_of("formula", formula),
        "columns": _variables(columns),
        "strata": None if strata is None else text_of("strata", strata),
        "profiles": _texts("profiles", profiles),
        "check": "proportional-hazards" if truth_of("check", check) else None,
    }
    return _question("cox", keys, common)


def _variables(columns: Mapping[str, tuple[float, float] | None]) -> list[str]:
    known = mapping_of("columns", columns, "(low, high) or None by the column's name")
    return [
        text_of("columns", column) if bounds is None else _interval(column, bounds)
        for column, bounds in known.items()
    ]


def _bounded(columns: Mapping[str, tuple[float, float]]) -> list[str]:
    known = mapping_of("columns", columns, "(low, high) by the column's name")
    return [_interval(column, bounds) for column, bounds in known.items()]


def _interval(column: str, bounds: tuple[float, float]) -> str:
    name = f"columns[{column!r}]"
    ends = [number_of(name, each) for each in list_of(name, bounds, "two numbers, (low, high)")]
    if len(ends) != 2:
        text = f"{name} = {bounds!r}: wanted two numbers, (low, high)"
        raise TypeError(text)
    return f"{text_of('columns', column)} {ends[0]!r}..{ends[1]!r}"


def _groups(group: str | None, groups: Sequence[Field] | None) -> dict[str, Any]:
    return {
        "group": None if group is None else text_of("group", group),
        "groups": _list("groups", groups),
    }


def _toml(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = plain_value(value)
    if isinstance(value, bool):  # as in tables
        return str(int(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(key, part)}" for key, part in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml(name, part) for part in value) + "]"
    if isinstance(value, int | float) and math.isfinite(value):
        return repr(value)
    text = f"{name} = {value!r}: wanted a text, a finite number, or a list of them"
    raise TypeError(text)


def query_text(
    questions: Sequence[Question],
    *,
    target_epsilon: float | None = None,
    noise_multiplier: float | None = None,
    noise_stddev: float | None = None,
    noise_law: str | None = None,
    delta: float = 1e-5,
    unit: str = "record",
    neighbouring: str = "replace-one",
    max_units: int = 10_000,
    rows_per_unit: int = 1,
    person_column: str | None = None,
    site_column: str | None = None,
    missing: Sequence[str] = ("", "?", "NA"),
    values: Sequence[str] | None = None,
    derived: Sequence[str] | None = None,
    floor: float = 0,
    confidence: float = 0.95,
    name: str = "query",
    colluders: int = 0,
    appearances: int = 1,
    budget_epsilon: float = 0,
    spare_attempts: int = 0,
) -> str:
    """Return the query file of some questions, which ``tacet federation init --query`` takes too.

    Args:
        questions: made by `count`, `mean` and the others.
        target_epsilon: epsilon of the worst guaranteed observer for all answers together; the
            noise follows from it.
        noise_multiplier: standard deviation of the noise over the clip norm, instead.
        noise_stddev: standard deviation of the noise, in units of the query's vector, instead.
        noise_law: "gaussian", or "discrete-laplace" for counts, proportions, histograms, crosstabs,
            survival curves and evaluations of records or persons. None: with a ``target_epsilon``
            the one with the smaller errors, else "gaussian".
        delta: at which epsilon is stated.
        unit: "record" (a row), "person" or "client" (a site).
        neighbouring: "replace-one" or "zero-out".
        max_units: most units of one site.
        rows_per_unit: most rows of one person or client that count in full.
        person_column: column with the person of each row, for unit person.
        site_column: column with the site of each row, where one file holds several sites.
        missing: fields that mean "missing", such as ``["", "NA"]``; an empty field always does.
        values: values of the columns that hold texts, with their spellings, such as
            ``["sex one-of=f|F|female,m|M|male"]``. A condition, an event and a label need them
            where they compare texts; a row with another value is left out. Columns of dates
            (``"admitted date"``), limits (``"age at-least=90"`` for "> 89") and units
            (``"dose unit=mg"``) are listed, too.
        derived: columns that follow from dates: ``"age = years from born to 2025-01-01"``,
            ``"stay = days from admitted to discharged"``.
        floor: estimated counts below it are suppressed, with all that follows from them.
        confidence: of intervals, in (0, 1).
        name: of the query.
        colluders: sites that may pool what they know.
        appearances: most sites at which one record or person appears.
        budget_epsilon: budget of the ledger. 0: none. A run of `ask` has a ledger of its own, in
            its run directory; a site of a live federation has one for all queries on its data.
        spare_attempts: failed attempts that may be charged in addition to the one that succeeds.

    Raises:
        TypeError: an argument has another type; the text names it.
    """
    data = {
        "person_column": None if person_column is None else text_of("person_column", person_column),
        "site_column": None if site_column is None else text_of("site_column", site_column),
        "missing": _texts("missing", missing),
        "values": _texts("values", values),
        "derived": _texts("derived", derived),
    }
    privacy = {
        "unit": text_of("unit", unit),
        "neighbouring": text_of("neighbouring", neighbouring),
        "target_epsilon": (
            None if target_epsilon is None else number_of("target_epsilon", target_epsilon)
        ),
        "noise_multiplier": (
            None if noise_multiplier is None else number_of("noise_multiplier", noise_multiplier)
        ),
        "noise_stddev": None if noise_stddev is None else number_of("noise_stddev", noise_stddev),
        "noise_law": None if noise_law is None else text_of("noise_law", noise_law),
        "delta": number_of("delta", delta),
        "max_units": whole_number_of("max_units", max_units),
        "rows_per_unit": whole_number_of("rows_per_unit", rows_per_unit),
        "colluders": whole_number_of("colluders", colluders),
        "appearances": whole_number_of("appearances", appearances, least=1),
        "budget_epsilon": number_of("budget_epsilon", budget_epsilon),
        "spare_attempts": whole_number_of("spare_attempts", spare_attempts),
    }
    top = {
        "name": text_of("name", name),
        "floor": number_of("floor", floor),
        "confidence": number_of("confidence", confidence),
    }
    blocks = [_table("", top), _table("[data]", data), _table("[privacy]", privacy)]
    for question in list_of("questions", questions, "questions, such as [count()]"):
        if not isinstance(question, Question):
            text = f"{question!r} is no question: make one with count, mean, histogram, …"
            raise TypeError(text)
        blocks.append(_table("[[question]]", question.keys))
    return "\n".join(blocks)


def _table(title: str, keys: Mapping[str, Any]) -> str:
    lines = [title] if title else []
    lines += [f"{key} = {_toml(key, value)}" for key, value in keys.items() if value is not None]
    return "\n".join(lines) + "\n"


def ask(
    tables: Mapping[str, Any] | str | os.PathLike[str],
    questions: Sequence[Question],
    *,
    sites: str | os.PathLike[str] | None = None,
    insecure_seed: int | None = None,
    threads: int = 0,
    out: str | os.PathLike[str] | None = None,
    session: Session | None = None,
    **options: Any,
) -> Release:
    """Ask questions about the tables of several sites, all played by this process.

    All questions share one charge. Several calls about the same data share a budget through
    ``session``. Without one, keep the sum of their epsilons (and deltas) yourself.

    Args:
        tables: a mapping from the site's name to its table: a mapping from column to values, a
            structured NumPy array, a pandas DataFrame, or the path of an Excel or Parquet file
            (`tacet.table_files.read`). Columns that no question reads may hold anything, the others
            numbers, texts and truth values. True is 1 and False is 0, also in conditions:
            ``"smoker = 1"``. Missing are None, masked values, and values that differ from
            themselves: NaN, NaT and pandas.NA. A float32 counts as the shortest decimal number that
            it is written with: 0.1 is 0.1. Arrays of numbers are copied once, as float64; a text
            takes 4 bytes, and each distinct one is kept once. Or a path: a CSV file or a folder of
            them, as for ``tacet statistics --data``.
        questions: made by `count`, `mean` and the others. They share one charge.
        sites: where ``tables`` is a path, a TOML file with a table ``[site.NAME]`` for each site
            whose files are written in another way than the query says: ``csv_separator``,
            ``csv_decimal`` and ``csv_spellings`` (docs/formats/query.md).
        insecure_seed: fixes noise and keys, for debugging: it protects nobody.
        threads: worker threads. 0: all processors.
        out: run directory, which ``tacet report`` and ``tacet audit`` read. None: nothing is kept.
        session: budget that the call shares with others on the same data. It refuses the call
            before anything is spent. Not with ``insecure_seed``.
        **options: those of `query_text`. One of ``target_epsilon``, ``noise_multiplier`` and
            ``noise_stddev`` is needed.

    Warns:
        UserWarning: fields of a column cannot be read. They count as missing, and their rows are
            left out. The text quotes them.

    Raises:
        InvalidArgumentError: a question, an option or a table does not fit; the text names it.
        TypeError: a column that is read holds something else; the text names site and column.
        AlreadyExistsError: ``out`` holds something.
        BudgetError: the budget does not permit the query, or the session has too little left.
    """
    known = [name for name in inspect.signature(query_text).parameters if name != "questions"]
    unknown = [name for name in options if name not in known]
    if unknown:
        text = f"ask has no option {unknown[0]!r}; they are {', '.join(known)}"
        raise TypeError(text)
    return _ask(
        query_text(questions, **options),
        tables,
        sites=sites,
        insecure_seed=insecure_seed,
        threads=threads,
        out=out,
        session=session,
    )


def ask_file(
    tables: Mapping[str, Any] | str | os.PathLike[str],
    query: str | os.PathLike[str],
    *,
    sites: str | os.PathLike[str] | None = None,
    insecure_seed: int | None = None,
    threads: int = 0,
    out: str | os.PathLike[str] | None = None,
    session: Session | None = None,
) -> Release:
    """Ask the questions of a query file (docs/formats/query.md).

    Result and errors are those of `ask`.

    Args:
        tables: as in `ask`.
        query: the file.
        sites: as in `ask`.
        insecure_seed: as in `ask`.
        threads: as in `ask`.
        out: as in `ask`.
        session: as in `ask`.
    """
    file = path_of("query", query)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        wrong = f"query: {file} is no text in UTF-8: {error.reason} at byte {error.start}"
        raise InvalidArgumentError(wrong) from None
    return _ask(
        text,
        tables,
        sites=sites,
        insecure_seed=insecure_seed,
        threads=threads,
        out=out,
        session=session,
    )


def _ask(
    text: str,
    tables: Mapping[str, Any] | str | os.PathLike[str],
    *,
    sites: str | os.PathLike[str] | None,
    insecure_seed: int | None,
    threads: int,
    out: str | os.PathLike[str] | None,
    session: Session | None,
) -> Release:
    budget = budget_of(session)
    seed = None if insecure_seed is None else whole_number_of("insecure_seed", insecure_seed)
    workers = whole_number_of("threads", threads)
    given = None
    if not isinstance(tables, Mapping | str | os.PathLike):
        kind = type(tables).__name__
        text = f"tables is of type {kind}: give {{name: table}}, or the path of CSV files"
        raise TypeError(text)
    if isinstance(tables, Mapping):
        if not tables:
            text = "tables is empty: give a table for each site, {name: table}"
            raise ValueError(text)
        reading = QueryReading(text)
        given = [
            (str(site), *reading.columns(str(site), _table_of(table)))
            for site, table in tables.items()
        ]
    with run_folder(out) as path:
        problems = _core.ask(
            text,
            given,
            "python" if given is not None else str(tables),
            None if sites is None else str(path_of("sites", sites)),
            str(path),
            seed,
            workers,
            budget,
        )
        release = open_release(path)
    for problem in problems:
        warnings.warn(f"{problem}. Such fields count as missing", stacklevel=3)
    return release if out is not None else replace(release, path=None)


def _table_of(table: Any) -> Any:
    return table_files.read(table) if isinstance(table, str | os.PathLike) else table


def _number(estimate: Mapping[str, Any], key: str) -> float:
    value = estimate.get(key)
    return math.nan if value is None else float(value)


def open_release(path: str | os.PathLike[str]) -> Release:
    """Read and check the answers of a run, of this module, of the program or of a live member.

    Args:
        path: the run directory (`out`).

    Raises:
        FileNotFoundError: the directory holds no answers.
        FailedPreconditionError: the run has not ended.
        DataLossError: a file was changed; the text names it.
    """
    folder = path_of("path", path)
    if not (folder / "answers.json").is_file():
        text = (
            f"{folder} holds no answers: give the run directory (`out`) of a query that has ended"
        )
        raise FileNotFoundError(text)
    _, summary, _, found = _core.read_run(str(folder))
    told = json.loads(found or "{}")
    answers = {}
    for question in told["questions"]:
        estimates = tuple(
            Estimate(
                quantity=each["quantity"],
                group=each.get("group", ""),
                at=each.get("at", ""),
                value=each["value"],
                noise_error=_number(each, "noise_error"),
                standard_error=_number(each, "standard_error"),
                low=_number(each, "low"),
                high=math.inf if "high" in each and each["high"] is None else _number(each, "high"),
                too_many=each.get("too_many", False),
            )
            for each in question["estimates"]
        )
        answers[question["name"]] = Answer(
            question["name"],
            question["kind"],
            estimates,
            tuple(question["methods"]),
            tuple(question.get("edges", ())),
            question.get("table"),
            told["confidence"],
            tuple(map(tuple, question.get("covariance", ()))),
        )
    return Release(
        folder,
        answers,
        told["confidence"],
        told["noise_law"],
        json.loads(summary),
        {site["site"]: site["cause"] for site in told["missing"]},
    )
