"""Choice among models: what it costs, and what noise must not decide."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import tacet
from tacet import model_choice, statistics
from tacet.statistics import Answer, Estimate, Release

Effects = dict[str, tuple[float | None, float]]  # term → estimate, standard error


def release(**models: Effects) -> Release:
    def answer(name: str, effects: Effects) -> Answer:
        estimates = [Estimate("intercept", "", "", 9.0, 0.1, 0.1, 8.8, 9.2)]
        for term, (value, error) in effects.items():
            ends = (math.nan, math.nan) if value is None else (value - error, value + error)
            estimates.append(Estimate("coefficient", term, "", value, error / 2, error, *ends))
            estimates.append(Estimate("odds ratio", term, "", 1.0, 0.1, 0.1, 0.9, 1.1))
        return Answer(name, "glm", tuple(estimates), ())

    answers = {name: answer(name, effects) for name, effects in models.items()}
    return Release(None, answers, 0.95, "gaussian", {})


def test_a_larger_model_needs_a_term_beyond_noise_and_looks() -> None:
    # 2.5 deviations exclude 0 for one look, and not for the six of this comparison.
    assert NormalDist().inv_cdf(1 - 0.05 / 2) < 2.5 < NormalDist().inv_cdf(1 - 0.05 / 12)
    small: Effects = {"age": (1.0, 0.1)}
    for extra, chosen in (((2.5, 1.0), "small"), ((-4.0, 1.0), "large"), ((None, 1.0), "small")):
        found = model_choice.choose(
            release(
                small=small,
                large={**small, "sex": extra},
                other={**small, "x": (0.1, 1), "y": (0.1, 1)},
            )
        )
        assert found.chosen == chosen
        assert found.looks == 6
    # A term that the smaller model has, too, speaks for nothing.
    assert model_choice.choose(release(a=small, b=small)).chosen == "a"
    # From model to model: each is compared with the choice so far.
    steps = release(a=small, b={**small, "x": (9, 1)}, c={**small, "x": (9, 1), "y": (9, 1)})
    assert model_choice.choose(steps).chosen == "c"


def test_the_table_allows_for_all_looks() -> None:
    found = model_choice.choose(release(a={"x": (1.0, 0.5)}, b={"x": (1.0, 0.5), "y": (None, 1)}))
    first, _, hidden = found.table()
    assert (first["model"], first["chosen"], first["term"]) == ("a", True, "x")
    reach = NormalDist().inv_cdf(1 - 0.05 / 6) * 0.5
    assert (first["low"], first["high"]) == pytest.approx((1 - reach, 1 + reach))
    assert first["p"] == pytest.approx(3 * 2 * (1 - NormalDist().cdf(2)))
    assert {hidden[key] for key in ("estimate", "standard_error", "low", "high", "p")} == {None}
    assert list(found.frame().columns) == list(first)


def test_answers_without_errors_are_refused() -> None:
    slope = Estimate("coefficient", "x", "", 1.0, 0.1, math.nan, math.nan, math.nan)
    for answer in (Answer("d", "regression", (slope,), ()), Answer("d", "mean", (), ())):
        with pytest.raises(ValueError, match=f"'d' is of kind {answer.kind}: wanted models"):
            model_choice.choose(Release(None, {"d": answer}, 0.95, "gaussian", {}))


BOUNDS: dict[str, tuple[float, float] | None] = {"bmi": (10, 60), "age": (20, 90), "sex": None}
CRUDE = statistics.glm("bmi ~ sex", {"bmi": (10, 60), "sex": None})
ADJUSTED = statistics.glm("bmi ~ sex + age", BOUNDS)
OPTIONS: dict[str, Any] = {"values": ["sex one-of=f,m"], "max_units": 3000}


def tables() -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(1)
    sites = {}
    for site in ("north", "south", "west"):
        age = rng.integers(20, 90, 2000)
        sites[site] = {
            "age": age,
            "sex": rng.choice(["f", "m"], 2000),
            "bmi": (20 + 0.2 * (age - 20) + rng.normal(0, 1, 2000)).clip(10, 60),
        }
    return sites


def test_the_session_pays_for_all_candidates(tmp_path: Path) -> None:
    session = tacet.Session(budget_epsilon=6, unit="record")
    found = model_choice.compare(
        tables(), {"crude": CRUDE, "adjusted": ADJUSTED}, session=session,
        target_epsilon=4, out=tmp_path / "run", **OPTIONS,
    )  # fmt: skip
    assert session.spent() == pytest.approx(found.release.epsilon, rel=1e-3)
    assert list(found.release.answers) == ["crude", "adjusted"]
    # The effect of age is tens of standard errors.
    assert found.chosen == "adjusted"
    effect = found.release["adjusted"].find("coefficient", group="age")[0]
    assert effect.value is not None
    assert effect.value > 12 * effect.standard_error
    # A second comparison does not fit, and leaves nothing.
    with pytest.raises(tacet.BudgetError):
        model_choice.compare(
            tables(), {"a": CRUDE, "b": ADJUSTED}, session=session, target_epsilon=4, **OPTIONS
        )


@pytest.mark.parametrize(
    ("models", "error", "words"),
    [
        ({"a": CRUDE}, ValueError, "1 models of the responses bmi: give two or more"),
        ({}, ValueError, "give two or more models"),
        ({"a": CRUDE, "b": "age"}, TypeError, "the model 'b' is 'age'"),
        ({"a": CRUDE, "b": statistics.count()}, ValueError, "the question 'b' is no model"),
        (
            {"a": CRUDE, "b": statistics.glm("age ~ sex", BOUNDS)},
            ValueError,
            "responses age, bmi",
        ),
    ],
)
def test_what_cannot_be_compared_costs_nothing(
    models: Any, error: type[Exception], words: str
) -> None:
    session = tacet.Session(budget_epsilon=6, unit="record")
    with pytest.raises(error, match=re.escape(words)):
        model_choice.compare(tables(), models, session=session, target_epsilon=4, **OPTIONS)
    assert session.spent() == 0
    with pytest.raises(TypeError, match=r"session = None: wanted a tacet\.Session"):
        model_choice.compare(tables(), models, session=None, target_epsilon=4)  # type: ignore[arg-type]
