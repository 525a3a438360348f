"""A classifier with ``fit`` and ``predict`` that trains in a simulated or a live federation.

Import it by name: ``import tacet.sklearn``. It needs only NumPy. Where scikit-learn is installed,
its pipelines and searches take the classifier::

    cross_val_score(classifier, X, y, params={"clients": client_of_row})
    make_pipeline(scaler, classifier).fit(X, y, federatedclassifier__clients=client_of_row)

A search fits several times, and a guarantee covers one fit: epsilons and deltas of all fits on the
same rows add up.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import number_of, whole_number_of
from .owners import owner_numbers
from .privacy import Privacy
from .simulation import Run, simulate

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from .member import Member
    from .simulation import TrainClient

__all__ = ["FederatedClassifier"]


def _probabilities(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: NDArray[np.float32] = shifted / shifted.sum(axis=1, keepdims=True)
    return found


def _array(name: str, values: Any, dtype: type | None = None) -> NDArray[Any]:
    """Values as an array; TypeError for a masked array, whose hidden values would be used."""
    if isinstance(values, np.ma.MaskedArray):
        text = f"{name} is a masked array: leave its masked rows out, or fill them in"
        raise TypeError(text)
    return np.asarray(values, dtype=dtype)


def _first_not_finite(rows: NDArray[np.float32]) -> str:
    row, column = np.argwhere(~np.isfinite(rows))[0]
    return f"row {row}, column {column}"


def _places(owners: list[int]) -> list[NDArray[np.intp]]:
    """Places of each owner's rows, increasing."""
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.cumsum(np.bincount(owners))[:-1])


def _split(
    model: NDArray[np.float32], classes: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Weights of shape (classes, features) and biases of shape (classes,)."""
    return model[:-classes].reshape(classes, -1), model[-classes:]


class FederatedClassifier:
    """Multinomial logistic regression, trained by the clients of a federation.

    In a simulation, rows are grouped into clients by ``fit(X, y, clients=...)``. In a live
    federation each site calls ``fit(X, y, member=...)`` with its own rows; its agreement's initial
    model is (n_features + 1) n_classes zeros, and the terms are those that were agreed. The
    guarantee hides all rows of one client. Scale the columns to about [-1, 1] by public bounds, not
    by the data's own statistics: those would not be covered by epsilon.

    Args:
        privacy: mechanism and guarantee of a simulation, unit client.
        classes: all classes that may occur, known to everybody. Not taken from the data.
        rounds: T of a simulation.
        cohort: K of a simulation, clients of a round. None: all.
        local_steps: gradient steps of a client in a round.
        learning_rate: of these steps.
        out: run directory of a simulation, which takes one fit. None: each fit makes a new one
            below ``runs/``.
        insecure_seed: of a simulation: fixes cohorts, noise and keys, for debugging. It protects
            nobody.

    Attributes:
        classes_: the classes, shape (n_classes,).
        coef_: weights, float32 of shape (n_classes, n_features).
        intercept_: biases, float32 of shape (n_classes,).
        n_features_in_: number of columns.
        run_: the `tacet.Run`; ``run_.epsilon`` is its guarantee.
    """

    _estimator_type = "classifier"  # read by scikit-learn before 1.6

    def __init__(
        self,
        *,
        privacy: Privacy | None = None,
        classes: ArrayLike | None = None,
        rounds: int = 20,
        cohort: int | None = None,
        local_steps: int = 10,
        learning_rate: float = 0.1,
        out: str | os.PathLike[str] | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.privacy = privacy
        self.classes = classes
        self.rounds = rounds
        self.cohort = cohort
        self.local_steps = local_steps
        self.learning_rate = learning_rate
        self.out = out
        self.insecure_seed = insecure_seed

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn 1.6 and later that this is a classifier."""
        utils = importlib.import_module("sklearn.utils")
        return utils.Tags(
            estimator_type="classifier",
            target_tags=utils.TargetTags(required=True),
            classifier_tags=utils.ClassifierTags(),
            non_deterministic=True,
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments; `deep` changes nothing: none is an estimator."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def set_params(self, **params: Any) -> FederatedClassifier:
        """Set arguments of the constructor."""
        for name, value in params.items():
            if name not in self.get_params():
                text = f"there is no parameter {name!r}; they are {', '.join(self.get_params())}"
                raise ValueError(text)
            setattr(self, name, value)
        return self

    def fit(
        self,
        X: ArrayLike,  # noqa: N803
        y: ArrayLike,
        *,
        clients: ArrayLike | None = None,
        member: Member | None = None,
    ) -> FederatedClassifier:
        """Train on rows ``X`` with labels ``y``.

        Args:
            X: shape (rows, n_features), finite numbers.
            y: shape (rows,), values of ``classes``.
            clients: shape (rows,), the client of each row, for a simulation: numbers or texts.
            member: this site's member of a live federation, instead: the rows are the site's.

        Raises:
            ValueError: a value is wrong; the text names it. InvalidArgumentError, which is one: a
                row has no client.
            TypeError: an array is masked, or an argument has another type.
        """
        if (clients is None) == (member is None):
            text = "give clients for a simulation, or member for a live federation"
            raise ValueError(text)
        if (self.privacy is None and member is None) or self.classes is None:
            text = "give privacy and classes: neither can be taken from the data"
            raise ValueError(text)
        unit = self.privacy.unit if member is None and self.privacy else getattr(member, "unit", "")
        if unit != "client":
            text = f"unit {unit} is not supported here: use tacet.simulate or Member.run"
            raise ValueError(text)
        rows = _array("X", X, np.float32)
        labels = _array("y", y)
        if rows.ndim != 2 or labels.shape != (len(rows),):
            text = (
                f"X has shape {rows.shape}, y {labels.shape}: wanted (rows, n_features) and (rows,)"
            )
            raise ValueError(text)
        if len(rows) == 0 or not np.isfinite(rows).all():
            text = (
                "X has no rows: give at least one"
                if len(rows) == 0
                else f"X holds a value that is not finite, at {_first_not_finite(rows)}: leave its "
                "row out, or fill it in by a rule that needs no data"
            )
            raise ValueError(text)
        classes = np.unique(np.asarray(self.classes))
        unknown = np.setdiff1d(labels, classes)
        if len(unknown) > 0:
            text = f"y holds {unknown[:3].tolist()}, which are not among classes: name all labels"
            raise ValueError(text)
        wanted = np.searchsorted(classes, labels)
        places = (
            [np.arange(len(rows))]
            if member is not None
            else _places(owner_numbers("clients", clients, len(rows)))
        )
        steps = whole_number_of("local_steps", self.local_steps)
        rate = np.float32(number_of("learning_rate", self.learning_rate))

        def train(model: NDArray[np.float32], client: int, round: int) -> NDArray[np.float32]:  # noqa: A002
            place = places[0 if member is not None else client]  # a member has a number of its own
            own, hot = rows[place], np.eye(len(classes), dtype=np.float32)
            targets = hot[wanted[place]]
            new = model.copy()
            for _ in range(steps):
                weights, biases = _split(new, len(classes))
                error = (_probabilities(own @ weights.T + biases) - targets) / len(own)
                step = np.concatenate([(error.T @ own).ravel(), error.sum(axis=0)])
                new -= rate * step.astype(np.float32)
            return new - model

        features = rows.shape[1]
        run = (
            self._simulate(train, len(places), len(classes), features)
            if member is None
            else self._run_live(train, member, len(classes), features)
        )
        self.run_: Run = run
        self.classes_ = classes
        self.n_features_in_ = features
        self.coef_, self.intercept_ = _split(run.model, len(classes))
        return self

    def _run_live(self, train: TrainClient, member: Member, classes: int, features: int) -> Run:
        agreed, size = member.initial_model.size, classes * (features + 1)
        if agreed != size:
            text = (
                f"the federation agreed on {agreed} parameters, {classes} classes of {features} "
                f"features have {size}: use the agreed classes and columns"
            )
            raise ValueError(text)
        return member.run(train)

    def _simulate(self, train: TrainClient, clients: int, classes: int, features: int) -> Run:
        return simulate(
            train,
            clients=clients,
            initial=np.zeros(classes * (features + 1), dtype=np.float32),
            privacy=self.privacy or Privacy(),
            rounds=self.rounds,
            cohort=self.cohort,
            architecture=f"multinomial logistic regression, {classes} classes, {features} "
            "features: weights by class, then biases",
            out=self.out,
            insecure_seed=self.insecure_seed,
        )

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float32]:  # noqa: N803
        """Return the probability of each class, shape (rows, n_classes), in [0, 1].

        Args:
            X: finite numbers of shape (rows, n_features_in_).

        Raises:
            ValueError: the classifier is not fitted, or X has another shape.
        """
        if not hasattr(self, "coef_"):
            text = "the classifier is not fitted: call fit first"
            raise ValueError(text)
        rows = _array("X", X, np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            text = f"X has shape {rows.shape}, wanted (rows, {self.n_features_in_})"
            raise ValueError(text)
        return _probabilities(rows @ self.coef_.T + self.intercept_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Return the most probable class of each row of X, shape (rows,); see `predict_proba`."""
        best = self.predict_proba(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[best]
        return found

    def score(self, X: ArrayLike, y: ArrayLike) -> float:  # noqa: N803
        """Return the share of rows of X whose class is that in y, shape (rows,): in [0, 1]."""
        return float(np.mean(self.predict(X) == _array("y", y)))
