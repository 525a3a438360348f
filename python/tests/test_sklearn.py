from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_federation import LiveFederation
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import tacet
from tacet.sklearn import FederatedClassifier

PRIVACY = tacet.Privacy(target_epsilon=10, delta=1e-3, clip_norm=1.0)


def draw(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    centres = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    return centres[labels] + 0.3 * rng.normal(size=(rows, 3)), np.array(["a", "b", "c"])[labels]


def classifier(**changed: Any) -> FederatedClassifier:
    options: dict[str, Any] = {
        "privacy": PRIVACY,
        "classes": ["a", "b", "c"],
        "rounds": 6,
        "learning_rate": 1.0,
        **changed,
    }
    return FederatedClassifier(**options)


def test_fit_and_predict(tmp_path: Path) -> None:
    rows, labels = draw(2000, 1)
    found = classifier(out=tmp_path / "run").fit(rows, labels, clients=np.arange(2000) % 100)
    test_rows, test_labels = draw(1000, 2)
    # Always "a" is right for a third.
    assert found.score(test_rows, test_labels) > 0.8
    assert found.coef_.shape == (3, 3)
    assert found.intercept_.shape == (3,)
    assert found.run_.epsilon is not None
    assert found.run_.epsilon <= 10
    np.testing.assert_allclose(found.predict_proba(test_rows).sum(axis=1), 1, rtol=1e-5)


def test_parameters_as_scikit_learn_has_them() -> None:
    one = classifier(rounds=5)
    two = FederatedClassifier(**one.get_params())
    assert two.get_params() == one.get_params()
    assert two.set_params(rounds=7) is two
    assert two.rounds == 7
    with pytest.raises(ValueError, match="no parameter 'round'"):
        two.set_params(round=7)


@pytest.mark.parametrize(
    ("options", "data", "text"),
    [
        ({"privacy": None}, {}, "give privacy and classes"),
        ({"classes": None}, {}, "give privacy and classes"),
        ({"classes": ["a", "b"]}, {}, r"y holds \['c'\]"),
        ({}, {"X": np.zeros((10, 3, 1))}, "X has shape"),
        ({}, {"X": np.full((10, 3), np.nan)}, "not finite"),
        ({}, {"X": np.zeros((0, 3)), "y": [], "clients": []}, "no rows"),
        ({}, {"clients": [1]}, "clients has 1 values for 10 rows"),
        ({}, {"clients": [0] * 9 + [None]}, "clients: row 9 has None, which identifies nobody"),
        ({}, {"clients": [*range(9), np.nan]}, "clients: row 9 has nan"),
        ({"rounds": None}, {}, "rounds = None: wanted a whole number"),
        ({"local_steps": -1}, {}, "local_steps = -1: wanted a whole number"),
        ({}, {"X": np.ma.masked_array(np.zeros((10, 3)), mask=True)}, "X is a masked array"),
        ({}, {"y": np.ma.masked_array(["a"] * 10, mask=True)}, "y is a masked array"),
        ({}, {"clients": None}, "give clients for a simulation, or member"),
        ({}, {"clients": np.zeros(10)}, "client|member|participants"),
        (
            {"privacy": tacet.Privacy(noise_multiplier=4, unit="person")},
            {},
            "unit person is not supported",
        ),
    ],
)
def test_misuse_is_an_error(
    options: dict[str, Any], data: dict[str, Any], text: str, tmp_path: Path
) -> None:
    arguments: dict[str, Any] = {
        "X": np.zeros((10, 3)),
        "y": ["a", "b", "c", "a", "a", "a", "a", "b", "b", "b"],
        "clients": np.arange(10) % 5,
        **data,
    }
    found = classifier(**{"out": tmp_path / "run", **options})
    with pytest.raises((ValueError, TypeError), match=text):
        found.fit(**arguments)
    with pytest.raises(NotFittedError):
        check_is_fitted(found)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="not fitted"):
        found.predict(np.zeros((1, 3)))


def test_each_client_trains_on_its_own_rows(tmp_path: Path) -> None:
    rows, labels = draw(60, 1)
    clients = np.random.default_rng(2).integers(0, 5, 60)
    models = []
    for names in (clients, [f"site {client}" for client in clients], list(map(float, clients))):
        found = classifier(out=tmp_path / str(len(models)), insecure_seed=1, rounds=1)
        models.append(found.fit(rows, labels, clients=names).coef_)
        assert found.run_.summary["clients"] == 5
    np.testing.assert_array_equal(models[1], models[0])
    np.testing.assert_array_equal(models[2], models[0])


def test_a_second_fit_has_a_run_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows, labels = draw(60, 1)
    found = classifier(rounds=1)
    runs = [found.fit(rows, labels, clients=np.arange(60) % 6).run_.path for _ in range(3)]
    assert len(set(runs)) == 3
    kept = classifier(rounds=1, out=runs[0])
    with pytest.raises(tacet.AlreadyExistsError, match="choose another directory"):
        kept.fit(rows, labels, clients=np.arange(60) % 6)


def test_scikit_learn_searches_and_pipelines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows, labels = draw(300, 1)
    clients = np.arange(300) % 30
    found = classifier(rounds=2)
    assert is_classifier(found)
    assert clone(found).get_params().keys() == found.get_params().keys()
    with pytest.raises(NotFittedError):
        check_is_fitted(found)
    scores = cross_val_score(found, rows, labels, cv=2, params={"clients": clients})
    assert scores.shape == (2,)
    search = GridSearchCV(found, {"local_steps": [0, 10]}, cv=2)
    search.fit(rows, labels, clients=clients)
    assert search.best_params_ == {"local_steps": 10}
    check_is_fitted(search.best_estimator_)
    halved = make_pipeline(FunctionTransformer(lambda values: values / 2), found)
    halved.fit(rows, labels, federatedclassifier__clients=clients)
    assert halved.predict(rows).shape == (300,)
    assert is_classifier(halved)


def test_sites_fit_in_a_live_federation(tmp_path: Path) -> None:
    privacy = "clip_norm = 1.0\nnoise_multiplier = 2.0\nscale = 1e-3\n"
    federation = LiveFederation(
        tmp_path, ["north", "south"], np.zeros(12, dtype=np.float32), rounds=2, privacy=privacy
    )
    try:
        federation.start_server()
        members = [tacet.Member(**federation.options(name)) for name in federation.sites]
        with pytest.raises(ValueError, match="agreed on 12 parameters, 3 classes of 2 features"):
            classifier(privacy=None).fit(np.zeros((2, 2)), ["a", "b"], member=members[0])

        def fit(site: int) -> FederatedClassifier:
            rows, labels = draw(300, site)
            return classifier(privacy=None).fit(rows, labels, member=members[site])

        with ThreadPoolExecutor() as pool:
            found = list(pool.map(fit, range(2)))
    finally:
        federation.close()
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    assert found[0].coef_.shape == (3, 3)
    assert found[0].coef_.any()
    assert set(found[1].predict(draw(50, 3)[0])) <= {"a", "b", "c"}
