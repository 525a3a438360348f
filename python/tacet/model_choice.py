"""Choice among regression models, under the charge and with the errors of all that is compared.

The candidates are asked in one query, which the session is charged for. Errors hold the noise, and
intervals hold for all coefficients together, so that they hold for the chosen model, too::

    from tacet import model_choice, statistics

    found = model_choice.compare(
        tables,
        {
            "crude": statistics.glm("died ~ arm", {"died": None, "arm": None}, family="binomial"),
            "adjusted": statistics.glm("died ~ arm + age", {...}, family="binomial"),
        },
        session=session,
        target_epsilon=2,
    )
    print(found.chosen, found.frame())

Import it by its name, as ``tacet.statistics``.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

from .session import Session
from .statistics import Estimate, Question, Release, ask

__all__ = ["Comparison", "choose", "compare"]


@dataclass(frozen=True)
class Comparison:
    """Candidates of a model, and the one that the data and the noise speak for.

    Attributes:
        release: answers to all candidates, by their names. Its intervals are those of each
            coefficient alone.
        chosen: name of the candidate that was chosen.
        looks: coefficients of all candidates. Intervals and p values allow for as many.
    """

    release: Release
    chosen: str
    looks: int

    def table(self) -> list[dict[str, Any]]:
        """Return a line for each coefficient of each candidate.

        Keys are "model", "chosen", "term", "estimate", "standard_error", "low", "high" and "p". The
        standard error holds noise and sampling. The intervals of all lines hold together with the
        release's confidence, whichever candidate was chosen, and p is multiplied by ``looks``
        (Bonferroni). Numbers of a suppressed coefficient are None.
        """
        return [
            {
                "model": answer.name,
                "chosen": answer.name == self.chosen,
                "term": each.group,
                "estimate": each.value,
                **_figures(each, self.release.confidence, self.looks),
            }
            for answer in self.release
            for each in answer.find("coefficient")
        ]

    def frame(self) -> Any:
        """Return `table` as a pandas DataFrame.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        return importlib.import_module("pandas").DataFrame(self.table())


def _figures(estimate: Estimate, confidence: float, looks: int) -> dict[str, float | None]:
    value, error = estimate.value, estimate.standard_error
    if value is None:
        return dict.fromkeys(("standard_error", "low", "high", "p"))
    reach = NormalDist().inv_cdf(1 - (1 - confidence) / (2 * looks)) * error
    tail = math.erfc(abs(value) / error / math.sqrt(2)) if error > 0 else float(value == 0)
    return {
        "standard_error": error,
        "low": value - reach,
        "high": value + reach,
        "p": min(1.0, looks * tail),
    }


def choose(release: Release) -> Comparison:
    """Choose among the models of a release, without a further charge.

    The first model is the choice until a later one has a term that the choice lacks, and whose
    interval of all coefficients together excludes 0. Later models are then compared with that one.
    A suppressed coefficient speaks for nothing.

    Args:
        release: answers to models alone, from the smallest to the largest.

    Raises:
        ValueError: an answer is no model, or its coefficients have no standard errors.
    """
    for answer in release:
        found = answer.find("coefficient")
        if not found or any(e.value is not None and math.isnan(e.standard_error) for e in found):
            text = (
                f"the answer {answer.name!r} is of kind {answer.kind}: wanted models whose "
                "coefficients have standard errors"
            )
            raise ValueError(text)
    answers = list(release)
    looks = sum(len(answer.find("coefficient")) for answer in answers)
    chosen = answers[0]
    for answer in answers[1:]:
        known = {each.group for each in chosen.find("coefficient")}
        added = [each for each in answer.find("coefficient") if each.group not in known]
        if any(_excludes_zero(each, release.confidence, looks) for each in added):
            chosen = answer
    return Comparison(release, chosen.name, looks)


def _excludes_zero(estimate: Estimate, confidence: float, looks: int) -> bool:
    figures = _figures(estimate, confidence, looks)
    low, high = figures["low"], figures["high"]
    return low is not None and high is not None and (low > 0 or high < 0)


def compare(
    tables: Mapping[str, Any] | str | os.PathLike[str],
    models: Mapping[str, Question],
    *,
    session: Session,
    **options: Any,
) -> Comparison:
    """Ask for candidates of a model in one query, and choose one of them by `choose`.

    The session is charged for all candidates, also for those that are not chosen. Each gets its
    ``share`` of the query's epsilon. Candidates have one response, and take equally many releases.

    Args:
        tables: as in `statistics.ask`.
        models: made by `statistics.glm`, from the smallest to the largest, by their names.
        session: budget that the call shares with all others on the same data.
        **options: those of `statistics.ask` and `statistics.query_text`.

    Raises:
        TypeError: the session is none, or a model is no question.
        ValueError: there are fewer than two models, a question is no model, or the models have
            different responses. Nothing was charged then.
        BudgetError: the session has too little left.
    """
    if not isinstance(session, Session):
        text = f"session = {session!r}: wanted a tacet.Session, which pays for all that is compared"
        raise TypeError(text)
    for name, question in models.items():
        if not isinstance(question, Question):
            text = f"the model {name!r} is {question!r}: make it with statistics.glm"
            raise TypeError(text)
        if "formula" not in question.keys:
            text = f"the question {name!r} is no model: make it with statistics.glm"
            raise ValueError(text)
    responses = {str(q.keys["formula"]).partition("~")[0].strip() for q in models.values()}
    if len(models) < 2 or len(responses) > 1:
        text = (
            f"{len(models)} models of the responses {', '.join(sorted(responses))}: give two or "
            "more models of one response"
        )
        raise ValueError(text)
    questions = [replace(q, keys={**q.keys, "name": name}) for name, q in models.items()]
    return choose(ask(tables, questions, session=session, **options))
