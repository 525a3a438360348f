"""A run as a frame, as a table in a notebook, and its end by the caller."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacet
from tacet import statistics
from tacet.sklearn import FederatedClassifier


def simulate(**changed: Any) -> tacet.Run:
    options: dict[str, Any] = {
        "train": lambda model, client, round_: np.full_like(model, 0.1),
        "clients": 6,
        "initial": np.zeros(20, dtype=np.float32),
        "privacy": tacet.Privacy(noise_multiplier=4, delta=1e-3),
        "rounds": 4,
        **changed,
    }
    return tacet.simulate(**options)


def test_a_frame_has_the_figures_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    run = simulate(
        evaluate=lambda model: {"accuracy": 0.25, "samples": 8}, evaluate_every=2, rounds=3
    )
    frame = run.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.index) == [1, 2, 3]
    assert list(frame["charged_epsilon"]) == [line["charged_epsilon"] for line in run.rounds]
    np.testing.assert_array_equal(frame["accuracy"], [np.nan, 0.25, 0.25])
    assert frame["auc"].isna().all()
    assert list(frame["cohort_size"]) == [6, 6, 6]
    assert (frame["seconds"] > 0).all()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"read run\.rounds"):
        run.to_frame()


def test_a_notebook_shows_the_guarantee_first() -> None:
    run = simulate(evaluate=lambda model: {"accuracy": 0.25, "samples": 8})
    table = run._repr_html_()
    assert run.epsilon is not None
    first = table.index("<tr>", 1), table.index("</tr>")
    assert f"epsilon {run.epsilon:.3g} at delta 0.001 for each client" in table[slice(*first)]
    assert "<td style='text-align:left'>0.25</td>" in table
    assert repr(run) == f"<Run not kept, 4 rounds, epsilon {run.epsilon:.3g}>"
    # A text of the run is no markup, and a run that protects nobody says so.
    odd = replace(run, path=Path("<b>"), summary={**run.summary, "labels": ["insecure-seed"]})
    assert "&lt;b&gt;" in odd._repr_html_()
    assert "protects nobody" in odd._repr_html_()
    assert "<b>" not in odd._repr_html_()


@pytest.mark.parametrize("true", [True, np.True_])
def test_the_caller_ends_a_run_and_epsilon_stays(true: Any, tmp_path: Path) -> None:
    whole = simulate()
    run = simulate(on_round=lambda line: true if line["round"] == 1 else [1], out=tmp_path / "run")
    assert len(run.rounds) == 2
    assert run.model.any()
    assert run.epsilon == whole.epsilon
    assert run.charged_epsilon is not None
    assert whole.epsilon is not None
    assert run.charged_epsilon < 0.8 * whole.epsilon
    assert run.summary["stopped"] == "ended as asked after 2 of 4 rounds"
    assert "ended as asked" in run._repr_html_()
    for words in (
        ("audit", "write", run.path, "--out", tmp_path / "audit.json"),
        ("audit", "verify", tmp_path / "audit.json"),
        ("report", run.path, "--out", tmp_path / "page.html"),
    ):
        done = subprocess.run(
            [os.environ["TACET_PROGRAM"], *map(str, words)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_an_early_end_leaves_the_rest_to_the_session() -> None:
    session = tacet.Session(budget_epsilon=8, delta=1e-3, unit="client")
    evaluated: list[int] = []

    def evaluate(model: Any) -> Any:
        evaluated.append(1)
        return {"accuracy": 0.5, "samples": 2}

    run = simulate(
        session=session, evaluate=evaluate, evaluate_every=3, on_round=lambda line: True
    )
    assert list(session.history["attempts"]) == [1]
    assert session.spent() == pytest.approx(run.charged_epsilon, rel=1e-3)
    # The model that the run ended with is evaluated, out of turn.
    assert len(evaluated) == 2
    assert run.summary["accuracy"] == 0.5


def test_the_last_round_needs_no_end() -> None:
    run = simulate(rounds=1, on_round=lambda line: True)
    assert run.summary["stopped"] is None


def test_a_text_for_people_has_three_digits() -> None:
    assert repr(tacet.Privacy(noise_multiplier=6 / 7)) == "Privacy(noise_multiplier=0.857)"
    model = FederatedClassifier(target_epsilon=2, learning_rate=20 / 7, classes=["no", "yes"])
    text = "FederatedClassifier(target_epsilon=2, learning_rate=2.86, classes=['no', 'yes'])"
    assert repr(model) == text
    tables = {site: {"age": [40, 50, 60] * 100} for site in ("north", "south")}
    questions = [statistics.mean("age", low=20, high=100, name="age")]
    answer = statistics.ask(tables, questions, target_epsilon=4, max_units=300)["age"]
    texts = [repr(answer), *map(repr, answer.estimates)]
    assert texts[0] == f"<Answer 'age' (mean), {len(answer.estimates)} estimates>"
    assert re.match(r"<Estimate count: [-\d.e]+ \([-\d.e]+ to [-\d.e]+\)>$", texts[1])
    assert not [text for text in texts if re.search(r"\d\.\d{6}", text)]
