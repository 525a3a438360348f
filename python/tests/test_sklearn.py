from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from live_federation import LiveFederation, at_once
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import tacet
from tacet.linear_training import LinearModel, Site, logistic_error
from tacet.sklearn import FederatedClassifier, FederatedRegressor

CLIENT = {"target_epsilon": 10, "delta": 1e-3, "unit": "client", "clip_norm": 1.0}


def draw(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, rows)
    centres = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    return centres[labels] + 0.3 * rng.normal(size=(rows, 3)), np.array(["a", "b", "c"])[labels]


def classifier(**changed: Any) -> FederatedClassifier:
    options: dict[str, Any] = {
        **CLIENT,
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


# Splits with drawn noise: the seeds fix both.
def scores_of(model: Any, rows: np.ndarray, labels: np.ndarray, splits: int) -> list[float]:
    scores = []
    for seed in range(splits):
        x, x_test, y, y_test = train_test_split(rows, labels, random_state=seed)
        model.set_params(insecure_seed=seed).fit(x, y, clients=np.arange(len(y)) % 8)
        scores.append(model.score(x_test, y_test))
    return scores


def test_breast_cancer_over_eight_sites_at_epsilon_2() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    bounds = (rows.min(axis=0), rows.max(axis=0))  # those in the description of the data set
    model = FederatedClassifier(target_epsilon=2, classes=[0, 1], bounds=bounds)
    assert np.median(scores_of(model, rows, labels, 20)) >= 0.95
    assert model.run_.epsilon is not None
    assert model.run_.epsilon <= 2
    assert model.run_.charged_epsilon == model.run_.epsilon


def central(
    rows: np.ndarray, targets: np.ndarray, *, softmax: bool, rate: float, seed: int
) -> np.ndarray:
    """Gradient descent of one curator: ten rounds of Gaussian noise, epsilon 2 for each row."""
    rng = np.random.default_rng(seed)
    wide = np.c_[rows, np.ones(len(rows))]
    clip = 0.1 * np.sqrt(wide.shape[1])
    noise = tacet.calibrate(
        target_epsilon=2, clients=2, unit="record", record_rate=1.0, rounds=10, max_absent=0
    )
    weights = np.zeros((wide.shape[1], targets.shape[1]))
    for step in range(10):
        scores = wide @ weights
        if softmax:
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
        errors = targets - scores
        norms = np.linalg.norm(errors, axis=1) * np.linalg.norm(wide, axis=1)
        errors *= np.minimum(1, clip / np.maximum(norms, 1e-12))[:, None]
        total = wide.T @ errors + rng.normal(size=weights.shape) * noise * clip
        weights += rate * (1 - 0.7 * step / 9) / clip * total / len(wide)
    return weights


def test_two_tables_reach_a_central_mechanism() -> None:
    rows, labels = load_digits(return_X_y=True)
    model = FederatedClassifier(target_epsilon=2, classes=range(10), bounds=(0, 16))
    found = np.mean(scores_of(model, rows, labels, 3))
    scaled = rows / 8 - 1
    best = 0.0
    for rate in (4.0, 8.0, 16.0):
        scores = []
        for seed in range(3):
            x, x_test, y, y_test = train_test_split(scaled, labels, random_state=seed)
            weights = central(x, np.eye(10)[y], softmax=True, rate=rate, seed=seed)
            guesses = (np.c_[x_test, np.ones(len(x_test))] @ weights).argmax(axis=1)
            scores.append(np.mean(guesses == y_test))
        best = max(best, float(np.mean(scores)))
    assert best > 0.8
    assert found > best - 0.03

    rows, target = load_diabetes(return_X_y=True)
    bounds = (rows.min(axis=0), rows.max(axis=0))
    regressor = FederatedRegressor(target_epsilon=2, bounds=bounds, target_bounds=(25, 346))
    found = np.mean(scores_of(regressor, rows, target, 8))
    scaled = 2 * (rows - bounds[0]) / (bounds[1] - bounds[0]) - 1
    best = 0.0
    for rate in (1.0, 2.0, 4.0):
        scores = []
        for seed in range(8):
            x, x_test, y, y_test = train_test_split(scaled, target, random_state=seed)
            weights = central(
                x, (y[:, None] - 185.5) / 160.5, softmax=False, rate=rate, seed=seed
            )
            rest = y_test - 185.5 - 160.5 * (np.c_[x_test, np.ones(len(x_test))] @ weights)[:, 0]
            scores.append(1 - np.sum(rest**2) / np.sum((y_test - y_test.mean()) ** 2))
        best = max(best, float(np.mean(scores)))
    assert best > 0.2
    assert found > best - 0.03


def test_a_unit_moves_a_sum_by_the_clip_norm_at_most() -> None:
    rng = np.random.default_rng(1)
    model = LinearModel(5, 3, logistic_error, centre_step=0.5)
    parameters = rng.normal(size=model.parameters).astype(np.float32)
    site = Site(3 * rng.normal(size=(12, 5)), np.eye(3)[rng.integers(0, 3, 12)])
    persons = Site(site.rows, site.targets, np.array([0, 1, 5]))
    for one, units in ((site, 12), (persons, 3)):
        parts = [model.sum_of_clipped(parameters, one, [unit], 0.5) for unit in range(units)]
        assert max(np.linalg.norm(part) for part in parts) <= 0.5 * (1 + 1e-6)
        whole = model.sum_of_clipped(parameters, one, list(range(units)), 0.5)
        np.testing.assert_allclose(whole, np.sum(parts, axis=0), atol=1e-5)
    # Unclipped, a person's part is the sum of the person's rows, and it is the gradient.
    free = [model.sum_of_clipped(parameters, site, [row], 1e9) for row in range(5, 12)]
    person = model.sum_of_clipped(parameters, persons, [2], 1e9)
    np.testing.assert_allclose(person, np.sum(free, axis=0), rtol=1e-4, atol=1e-4)
    assert not model.sum_of_clipped(parameters, site, [], 0.5).any()

    def loss(weights: np.ndarray) -> float:
        matrix, biases, centre = model.parts(weights)
        scores = (site.rows[:1] - centre) @ matrix.T + biases
        return float(np.log(np.exp(scores).sum()) - scores[0] @ site.targets[0])

    wide, step = parameters.astype(np.float64), 1e-6
    for place in range(18):  # of the weights and biases
        moved = wide.copy()
        moved[place] += step
        slope = (loss(moved) - loss(wide)) / step
        found = model.sum_of_clipped(parameters, site, [0], 1e9)[place]
        assert found == pytest.approx(-slope, abs=1e-4)


@pytest.mark.parametrize("unit", ["record", "person", "client"])
def test_each_unit_has_its_guarantee(unit: Any) -> None:
    rows, labels = draw(800, 1)
    persons = np.arange(800) // 2 if unit == "person" else None
    model = FederatedClassifier(
        target_epsilon=4, unit=unit, classes=["a", "b", "c"], bounds=(-1, 2), rounds=4
    )
    clients = np.arange(800) // 2 % 8  # both rows of a person at one site
    model.fit(rows, labels, clients=clients, persons=persons)
    assert model.run_.summary["unit"] == unit
    assert model.run_.summary["clients"] == 8
    assert model.run_.epsilon is not None
    assert 3.8 < model.run_.epsilon <= 4
    if unit != "client":  # eight sites hide one of them badly at epsilon 4
        assert model.score(rows, labels) > 0.7


def test_a_person_at_two_sites_is_refused_unless_it_is_agreed() -> None:
    rows, labels = draw(80, 1)
    persons, clients = np.arange(80) // 2, np.arange(80) % 4
    model = classifier(unit="person", clip_norm=None, rounds=1)
    with pytest.raises(tacet.InvalidArgumentError, match="rows at 2 clients, and appearances"):
        model.fit(rows, labels, clients=clients, persons=persons)
    model.set_params(appearances=2).fit(rows, labels, clients=clients, persons=persons)
    assert model.run_.summary["clients"] == 4


@pytest.mark.parametrize("unit", ["record", "person"])
def test_sites_of_10000_units(unit: Any) -> None:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (20_000, 30))
    labels = (rows[:, :5].sum(axis=1) > 0).astype(int)
    clients = np.arange(20_000) % 2
    model = FederatedClassifier(
        target_epsilon=2, unit=unit, classes=[0, 1], bounds=(-1, 1), rounds=3
    )
    persons = np.arange(20_000) if unit == "person" else None
    assert model.fit(rows, labels, clients=clients, persons=persons).score(rows, labels) > 0.85


@pytest.mark.parametrize("columns", [1, 2000])
def test_every_number_of_columns_is_accepted(columns: int) -> None:
    rows, target = np.zeros((40, columns)), np.zeros(40)
    model = FederatedRegressor(target_epsilon=2, target_bounds=(-1, 1), rounds=1)
    assert model.fit(rows, target, clients=np.arange(40) % 4).coef_.shape == (columns,)


def test_settings_hold_nothing_of_the_rows(tmp_path: Path) -> None:
    rows, labels = draw(80, 1)
    clients = np.arange(80) % 4
    other = clients.copy()
    other[0] = 1  # a row in the place of another site's
    texts = []
    for name, place in (("one", clients), ("two", other)):
        model = classifier(unit="record", clip_norm=None, rounds=1, out=tmp_path / name)
        model.fit(rows, labels, clients=place)
        texts.append((tmp_path / name / "config.toml").read_text())
    assert "coordinate_bound" in texts[0]
    assert texts[0] == texts[1]


FRAME_BOUNDS = {
    "age": (18, 98),
    "sex": ["f", "m"],
    "stage": [1, 2, 3],
    "ward": ["north", "south"],
}


def frame(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], rows)
    age, stage = rng.integers(18, 99, rows), rng.integers(1, 4, rows)
    ill = (age - 58) / 40 + (sex == "m") + (stage == 3) - 0.7 + 0.3 * rng.normal(size=rows) > 0
    ward = pd.Categorical(rng.choice(["north", "south"], rows))
    table = pd.DataFrame({"age": age, "sex": sex, "stage": stage, "ward": ward})
    return table, ill.astype(int)


def test_columns_of_a_frame_with_categories() -> None:
    table, ill = frame(1000)
    model = FederatedClassifier(target_epsilon=4, classes=[0, 1], bounds=FRAME_BOUNDS)
    scores = cross_val_score(model, table, ill, cv=2, params={"clients": np.arange(1000) % 5})
    assert scores.min() > 0.8
    model.fit(table, ill, clients=np.arange(1000) % 5)
    assert model.coef_.shape == (1, 1 + 2 + 3 + 2)
    assert list(model.feature_names_in_) == ["age", "sex", "stage", "ward"]
    assert model.n_features_in_ == 4
    older = table.assign(age=200)  # beyond the bounds
    np.testing.assert_array_equal(
        model.predict_proba(older), model.predict_proba(table.assign(age=98))
    )
    with pytest.raises(ValueError, match=r"X has the columns \['age'\], the model has"):
        model.predict(table[["age"]])
    with pytest.raises(ValueError, match="1000 values outside the categories of 'stage'"):
        model.predict(table.assign(stage=7))
    with pytest.raises(ValueError, match="1000 values that are not finite in 'age'"):
        model.predict(table.assign(age=np.nan))


def test_coefficients_are_those_of_the_tables_columns() -> None:
    rng = np.random.default_rng(1)
    rows = rng.uniform(0, 10, (4000, 2))
    target = 3 * rows[:, 0] - rows[:, 1] + 20
    model = FederatedRegressor(
        target_epsilon=50, bounds=(0, 10), target_bounds=(10, 50), rounds=40
    )
    model.fit(rows, target, clients=np.arange(4000) % 4)
    np.testing.assert_allclose(model.coef_, [3, -1], atol=0.15)
    assert model.intercept_ == pytest.approx(20, abs=1)
    np.testing.assert_allclose(model.predict(rows), rows @ model.coef_ + model.intercept_)
    assert model.score(rows, target) > 0.98
    assert is_regressor(model)


def test_parameters_as_scikit_learn_has_them() -> None:
    for one in (classifier(rounds=5), FederatedRegressor(rounds=5)):
        two = type(one)(**one.get_params())
        assert two.get_params() == one.get_params()
        assert two.set_params(rounds=7) is two
        assert two.rounds == 7
        with pytest.raises(ValueError, match="no parameter 'round'"):
            two.set_params(round=7)


@pytest.mark.parametrize(
    ("options", "data", "text"),
    [
        ({"target_epsilon": None}, {}, "the noise is missing"),
        ({"classes": None}, {}, "give classes"),
        ({"classes": ["a"]}, {}, "wanted two or more"),
        ({"classes": ["a", "b"]}, {}, r"y holds \['c'\]"),
        ({}, {"X": np.zeros((10, 3, 1))}, "X has shape"),
        ({}, {"X": np.full((10, 3), np.nan)}, "10 values that are not finite in column 0"),
        ({}, {"X": np.zeros((0, 3)), "y": [], "clients": []}, "no rows"),
        ({}, {"y": ["a"]}, r"X has 10 rows, y has shape \(1,\)"),
        ({}, {"clients": [1]}, "clients has 1 values for 10 rows"),
        ({}, {"clients": [0] * 9 + [None]}, "clients: row 9 has None, which identifies nobody"),
        ({}, {"clients": [*range(9), np.nan]}, "clients: row 9 has nan"),
        ({"rounds": None}, {}, "rounds = None: wanted a whole number"),
        ({"local_steps": -1}, {}, "local_steps = -1: wanted a whole number"),
        ({}, {"X": np.ma.masked_array(np.zeros((10, 3)), mask=True)}, "X is a masked array"),
        ({}, {"y": np.ma.masked_array(["a"] * 10, mask=True)}, "y is a masked array"),
        ({}, {"clients": None}, "give clients for a simulation, or member"),
        ({}, {"clients": np.zeros(10)}, "client|member|participants"),
        ({"unit": "person"}, {}, "give persons, the person of each row"),
        ({}, {"persons": range(10)}, "give persons, the person of each row"),
        ({"bounds": (0, [1, 2])}, {}, "a number or 3 numbers for low and for high"),
        ({"bounds": (1, 1)}, {}, "the first one smaller"),
        ({"bounds": (0, np.inf)}, {}, "wanted finite numbers"),
        ({"bounds": {"a": (0, 1)}}, {}, "each a number or one for each column of the array"),
        ({"bounds": {}}, {"X": frame(10)[0]}, "bounds lacks the column 'age'"),
        ({"bounds": None}, {"X": frame(10)[0][["ward"]]}, "bounds lacks the column 'ward'"),
        (
            {"bounds": {name: FRAME_BOUNDS[name] for name in ("age", "sex", "stage")}},
            {"X": frame(10)[0]},
            r"bounds lacks the column 'ward': .* the list of its categories",
        ),
        ({"bounds": {**FRAME_BOUNDS, "sex": "fm"}}, {"X": frame(10)[0]}, "or a list of categories"),
        ({"bounds": {**FRAME_BOUNDS, "sex": ["f", "f"]}}, {"X": frame(10)[0]}, "there twice"),
        ({"bounds": {**FRAME_BOUNDS, "sex": (0, 1)}}, {"X": frame(10)[0]}, "it holds no numbers"),
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


def test_each_client_trains_on_its_own_rows() -> None:
    rows, labels = draw(60, 1)
    clients = np.random.default_rng(2).integers(0, 5, 60)
    models = []
    for names in (clients, [f"site {client}" for client in clients], list(map(float, clients))):
        found = classifier(insecure_seed=1, rounds=1)
        models.append(found.fit(rows, labels, clients=names).coef_)
        assert found.run_.summary["clients"] == 5
    np.testing.assert_array_equal(models[1], models[0])
    np.testing.assert_array_equal(models[2], models[0])


def test_a_second_fit_keeps_nothing_of_the_first(tmp_path: Path) -> None:
    rows, labels = draw(60, 1)
    kept = classifier(rounds=1, out=tmp_path / "run")
    assert kept.fit(rows, labels, clients=np.arange(60) % 6).run_.path == tmp_path / "run"
    with pytest.raises(tacet.AlreadyExistsError, match="choose another directory"):
        kept.fit(rows, labels, clients=np.arange(60) % 6)
    assert classifier(rounds=1).fit(rows, labels, clients=np.arange(60) % 6).run_.path is None


def test_scikit_learn_searches_and_pipelines() -> None:
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


@pytest.mark.parametrize("unit", ["client", "record"])
def test_sites_fit_in_a_live_federation(unit: Any, tmp_path: Path) -> None:
    privacy = "clip_norm = 1.0\nnoise_multiplier = 2.0\nscale = 1e-3\n"
    parameters = 12
    if unit == "record":
        privacy += 'unit = "record"\nrecord_rate = 0.5\nexpected_batch = 300\n'
        privacy += "coordinate_bound = 100\n"
        parameters = 15  # with the learned centre of three columns
    federation = LiveFederation(
        tmp_path, ["north", "south"], np.zeros(parameters, dtype=np.float32), rounds=2,
        privacy=privacy,
    )  # fmt: skip
    live = {"target_epsilon": None, "unit": unit}
    try:
        federation.start_server()
        given = {"records": 300} if unit == "record" else {}
        members = [
            tacet.Member(**federation.options(name), **given) for name in federation.sites
        ]
        with pytest.raises(ValueError, match=f"agreed on {parameters} parameters, this model has"):
            classifier(**live).fit(np.zeros((2, 2)), ["a", "b"], member=members[0])
        if unit == "record":  # a client's own steps are its own affair
            text = r"agreed on server.learning_rate = 1.0, .* has learning_rate = 5.0: give the agr"
            with pytest.raises(ValueError, match=text):
                classifier(**live, learning_rate=5).fit(*draw(300, 0), member=members[0])
        session = tacet.Session(budget_epsilon=1, unit=unit)
        with pytest.raises(ValueError, match="session is for simulations"):
            classifier(**live, session=session).fit(*draw(3, 1), member=members[0])
        with pytest.raises(ValueError, match=f"unit is {unit}, the model's person"):
            classifier(unit="person").fit(*draw(3, 1), persons=[1, 2, 3], member=members[0])

        def fit(site: int) -> FederatedClassifier:
            rows, labels = draw(300, site)
            return classifier(**live).fit(rows, labels, member=members[site])

        found = at_once([functools.partial(fit, site) for site in range(2)])
    finally:
        federation.close()
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    assert found[0].coef_.shape == (3, 3)
    assert found[0].coef_.any()
    assert set(found[1].predict(draw(50, 3)[0])) <= {"a", "b", "c"}
