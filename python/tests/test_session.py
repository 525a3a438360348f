"""One budget for simulations, queries, classifiers and searches."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import tacet
from tacet import statistics
from tacet.sklearn import FederatedClassifier

UNITS = [50] * 8
RECORDS = tacet.Privacy(
    unit="record", noise_multiplier=60, record_rate=1.0, coordinate_bound=60, scale=0.01
)
SAMPLED = tacet.Privacy(noise_multiplier=12)
COLUMNS = ["call", "attempts", "epsilon", "ended"]


def ones(model: Any, client: int, units: list[int], clip_norm: float) -> Any:
    del client, clip_norm
    return np.full(len(model), 0.01 * len(units), dtype=np.float32)


def fit(session: tacet.Session | None, train: Any = ones, **changed: Any) -> tacet.Run:
    options: dict[str, Any] = {
        "clients": 8,
        "units": UNITS,
        "initial": np.zeros(4, dtype=np.float32),
        "privacy": RECORDS,
        "rounds": 5,
        **changed,
    }
    return tacet.simulate(train, session=session, **options)


def budget(epsilon: float = 10.0, **changed: Any) -> tacet.Session:
    return tacet.Session(**{"budget_epsilon": epsilon, "unit": "record", **changed})


def test_ten_equal_fits_cost_less_than_their_sum() -> None:
    session = budget()
    run = fit(session)
    one = session.spent()
    # The run's own figure has the terms of finite arithmetic, too.
    assert one == pytest.approx(run.epsilon, rel=1e-3)
    for _ in range(9):
        fit(session)
    assert one < session.spent() < 0.75 * 10 * one
    assert list(session.history["attempts"]) == [5] * 10


def test_sampled_rounds_compose_as_well() -> None:
    session = budget(unit="client")
    runs = [
        fit(
            session,
            lambda model, client, round_: np.zeros_like(model),
            units=(),
            rounds=2,
            clients=20,
            cohort=5,
            privacy=SAMPLED,
        )
        for _ in range(10)
    ]
    assert runs[0].epsilon is not None
    assert session.spent() < 0.75 * 10 * runs[0].epsilon


def test_a_target_is_spent_when_nothing_fails() -> None:
    privacy = tacet.Privacy(
        unit="record", target_epsilon=2, record_rate=1.0, coordinate_bound=60, scale=0.01
    )
    session = budget(3)
    run = fit(session, privacy=privacy)
    assert run.charged_epsilon is not None
    assert 0.97 * 2 <= run.charged_epsilon <= 2
    assert 0.97 * 2 <= session.spent() <= 2


def test_a_call_that_does_not_fit_spends_nothing(tmp_path: Path) -> None:
    session = budget(1.0)
    fit(session)
    spent = session.spent()
    trained: list[int] = []
    with pytest.raises(tacet.BudgetError, match=r"before it spends.*noise_multiplier of "):
        fit(session, lambda *_: trained.append(1), rounds=200, out=tmp_path / "run")
    assert trained == []
    assert not (tmp_path / "run").exists()
    assert session.spent() == spent
    assert len(session.history) == 1


def test_what_remains_can_be_spent_and_no_more() -> None:
    session = budget(2.0)
    fit(session)
    left = session.remaining()
    assert 0 < left < 2
    options = {"unit": "record", "record_rate": 1.0, "coordinate_bound": 60, "scale": 0.01}
    with pytest.raises(tacet.BudgetError):
        fit(session, privacy=tacet.Privacy(target_epsilon=left * 1.05, **options))
    fit(session, privacy=tacet.Privacy(target_epsilon=left, **options))
    assert session.spent() <= 2
    assert session.remaining() < 0.1


def test_a_failed_fit_stays_charged() -> None:
    session = budget()
    fit(session)
    one = session.spent()

    def fails(model: Any, client: int, units: list[int], clip_norm: float) -> Any:
        if model.any():  # after the first round
            raise KeyboardInterrupt
        return ones(model, client, units, clip_norm)

    with pytest.raises(KeyboardInterrupt):
        fit(session, fails)
    # The second round was begun: its updates may have been drawn and seen.
    assert list(session.history["attempts"]) == [5, 2]
    assert list(session.history["ended"]) == [True, True]
    assert session.spent() > one


def test_a_call_that_goes_on_counts_with_all_that_it_may_make() -> None:
    session = budget()
    seen: list[float] = []
    fit(session, on_round=lambda _: seen.append(session.spent()), spare_attempts=5)
    assert len(set(seen)) == 1
    assert session.spent() < seen[0]  # five spare attempts were not made
    assert list(session.history["attempts"]) == [5]


def test_queries_share_the_budget() -> None:
    tables = {f"site {i}": {"age": np.linspace(20, 80, 50)} for i in range(4)}
    questions = [statistics.mean("age", low=0, high=100)]
    session = budget(1.5)
    release = statistics.ask(tables, questions, target_epsilon=0.5, max_units=50, session=session)
    assert release.path is None
    assert session.spent() == pytest.approx(0.5, rel=0.01)
    fit(session)
    mixed = session.spent()
    assert 0.5 < mixed < 1.5
    with pytest.raises(tacet.BudgetError, match=r"would fit with a (target_eps|noise_mul)"):
        statistics.ask(tables, questions, target_epsilon=1.4, max_units=50, session=session)
    # Noise of counts has another law; it is refused and counted alike.
    statistics.ask(
        tables, [statistics.count()], target_epsilon=0.2, max_units=50, session=session
    )
    assert list(session.history["call"]) == ["ask", "simulate", "ask"]
    assert mixed < session.spent() <= 1.5


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"unit": "person"}, "unit is record in this run and person in the session"),
        ({"neighbouring": "zero-out"}, "neighbouring is replace-one in this run and zero-out"),
    ],
)
def test_other_units_and_neighbours_are_refused(changed: dict[str, Any], text: str) -> None:
    with pytest.raises(tacet.InvalidArgumentError, match=text):
        fit(budget(**changed))


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"budget_epsilon": 0}, ValueError, "budget_epsilon = 0"),
        ({"budget_epsilon": "3"}, TypeError, "budget_epsilon = '3': wanted a number"),
        ({"budget_epsilon": float("inf")}, ValueError, "budget_epsilon = inf"),
        ({"delta": 1.0}, ValueError, "delta"),
        ({"unit": "row"}, ValueError, "row"),
        ({"neighbouring": "add"}, ValueError, "add"),
    ],
)
def test_wrong_arguments_are_named(changed: dict[str, Any], error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        tacet.Session(**{"budget_epsilon": 3, "unit": "record", **changed})


def test_what_a_session_cannot_count_is_refused(tmp_path: Path) -> None:
    session = budget()
    with pytest.raises(tacet.InvalidArgumentError, match="insecure-seed, which protects nobody"):
        fit(session, insecure_seed=1)
    with pytest.raises(ValueError, match="resume=True with a session"):
        fit(session, out=tmp_path / "run", resume=True)
    with pytest.raises(TypeError, match=r"session = 3: wanted a tacet\.Session"):
        fit(3)  # type: ignore[arg-type]
    assert len(session.history) == 0


def test_copies_are_the_same_session() -> None:
    session = budget()
    for other in (copy.copy(session), copy.deepcopy([session])[0], clone(session, safe=False)):
        fit(other)
    assert len(session.history) == 3
    with pytest.raises(AttributeError):
        session.budget_epsilon = 100.0  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"not pickled.*backend='threading'"):
        pickle.dumps(session)


def test_a_forked_process_is_refused() -> None:
    """In a process of its own, since threads of this one do not survive a fork."""
    script = """
import os
import tacet
session = tacet.Session(budget_epsilon=1, unit="record")
child = os.fork()
if child == 0:
    try:
        session.spent()
    except tacet.FailedPreconditionError as error:
        os._exit(0 if "the session is of process" in str(error) else 2)
    os._exit(1)
print(os.waitpid(child, 0)[1], session.spent())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr) == ("0 0.0\n", "")


def test_threads_spend_a_budget_once() -> None:
    def fits(session: tacet.Session) -> bool:
        try:
            fit(session, rounds=1)
        except tacet.BudgetError:
            return False
        return True

    alone = budget(0.5)
    admitted = 0
    while fits(alone):
        admitted += 1
    session = budget(0.5)
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(fits, [session] * (admitted + 4))) == admitted
    assert session.spent() == alone.spent() <= 0.5


def rows_of(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, count)
    return np.clip(rng.normal(labels[:, None] - 0.5, 0.5, (count, 2)), -1, 1), labels


def test_a_search_states_one_epsilon() -> None:
    rows, labels = rows_of(320)
    session = budget(8)
    model = FederatedClassifier(noise_multiplier=30, classes=[0, 1], rounds=2, session=session)
    search = GridSearchCV(model, {"learning_rate": [3.0, 6.0, 12.0]}, cv=3)
    search.fit(rows, labels, clients=np.arange(320) % 8)
    assert list(session.history["attempts"]) == [2] * 10  # nine fits and the best one again
    assert session.spent() < 0.75 * session.history["epsilon"].sum()
    assert search.best_score_ > 0.7


def test_jobs_of_a_search_share_the_session_or_are_refused() -> None:
    rows, labels = rows_of(320)
    session = budget(8)
    model = FederatedClassifier(noise_multiplier=30, classes=[0, 1], rounds=1, session=session)
    search = GridSearchCV(model, {"learning_rate": [6.0, 12.0]}, cv=2, n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        search.fit(rows, labels, clients=np.arange(320) % 8)
    assert list(session.history["attempts"]) == [1] * 5
    with pytest.raises((TypeError, pickle.PicklingError)) as caught:
        search.fit(rows, labels, clients=np.arange(320) % 8)
    told = [caught.value, caught.value.__cause__]
    assert any("a Session is not pickled" in str(error) for error in told)
    assert len(session.history) == 5


def test_history_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    session = budget()
    fit(session)
    frame = session.history
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == COLUMNS
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert session.history == frame.to_dict("records")


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    inside: list[int] = []

    def looks(_: Any) -> None:
        (folder,) = tmp_path.iterdir()
        inside.append(folder.stat().st_mode & 0o777)

    assert fit(None, on_round=looks).path is None
    assert set(inside) == {0o700}
    with pytest.raises(ZeroDivisionError):
        fit(None, lambda *_: 1 / 0)
    tables = {name: {"age": [30.0, 50.0]} for name in "abc"}
    statistics.ask(tables, [statistics.count()], target_epsilon=1, max_units=2)
    assert os.listdir(tmp_path) == []
