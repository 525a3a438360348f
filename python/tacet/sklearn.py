"""A classifier and a regressor with ``fit`` and ``predict`` that a federation trains.

Import it by name: ``import tacet.sklearn``. It needs only NumPy. Where scikit-learn is installed,
its pipelines and searches take both::

    cross_val_score(model, X, y, params={"clients": client_of_row})
    make_pipeline(step, model).fit(X, y, federatedclassifier__clients=client_of_row)

A search fits several times. A `tacet.Session` states one epsilon for all fits; without one, the
epsilons and deltas of all fits on the same rows add up. Scores on rows of the sites are figures
without noise: they are outside of epsilon, and so is what a search chooses by them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .arguments import list_of
from .columns import interval_of, plain_array
from .errors import InvalidArgumentError
from .linear_estimator import LinearEstimator, read_rows, row_values
from .linear_training import probabilities

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from .member import Member
    from .privacy import Neighbouring, Unit
    from .session import Session

__all__ = ["FederatedClassifier", "FederatedRegressor"]


def _tags(kind: str) -> Any:
    utils = importlib.import_module("sklearn.utils")
    return utils.Tags(
        estimator_type=kind,
        target_tags=utils.TargetTags(required=True),
        classifier_tags=utils.ClassifierTags() if kind == "classifier" else None,
        regressor_tags=utils.RegressorTags() if kind == "regressor" else None,
        non_deterministic=True,
    )


class FederatedClassifier(LinearEstimator):
    """Logistic regression, multinomial for three classes and more, trained by a federation.

    In a simulation, rows are grouped into sites by ``fit(X, y, clients=...)``. In a live federation
    each site calls ``fit(X, y, member=...)`` with its own rows. The initial model that it agrees on
    is zeros; an error names their number. For the units record and person the agreed learning rate
    of the server is ``learning_rate``, or the fit is refused. The other terms are those that were
    agreed.

    A site's sum of gradients is clamped at 16,000 clip norms over the root of the number of
    parameters, whatever the sites hold. Where a site draws some ten thousand units in a round and
    more, the clamp slows the descent: lower ``record_rate``.

    Args:
        target_epsilon: epsilon of a simulation, for which the least noise is found.
        noise_multiplier: the noise instead, standard deviation of the sum over the clip norm.
        delta: of the guarantee, in (0, 1).
        unit: data that the guarantee hides: "record" (a row), "person" (all rows of a person) or
            "client" (all rows of a site).
        neighbouring: "replace-one" or "zero-out".
        colluders: sites that may pool their knowledge.
        appearances: with unit person: sites at which one person may have rows. None: one.
        bounds: public ranges of the columns, by which they are scaled to [-1, 1]; values beyond
            are clamped. ``(low, high)``, each a number or one for each column. For a DataFrame, a
            mapping from the column to ``(low, high)`` or to the list of its categories. A column
            of a categorical type needs this list, too: pandas fills the type's from the rows.
            None: the columns are numbers, scaled already to about [-1, 1]. Never take bounds or
            categories from the sites' rows: they would be outside of epsilon.
        rounds: T of a simulation.
        cohort: K of a simulation with unit client, sites of a round. None: all.
        record_rate: for the units record and person: probability, in (0, 1], with which a unit is
            drawn in a round.
        clip_norm: L2 norm to which a unit's gradient is clipped, or a client's update. None: a
            tenth of the root of the number of encoded columns and one.
        learning_rate: factor on the mean clipped gradient in the first round; it falls to 0.3 of
            it in the last one. For unit client that of a client's own steps. None: 20, for unit
            client 0.1.
        local_steps: gradient steps of a client in a round, for unit client.
        session: `tacet.Session` that the fits of a simulation share with other calls.
        out: run directory of a simulation, which takes one fit. None: nothing is kept.
        insecure_seed: of a simulation: fixes draws, noise and keys, for debugging. It protects
            nobody.
        classes: all classes that may occur, two or more, known to everybody. Not taken from the
            data.

    Attributes:
        classes_: the classes, sorted, shape (n_classes,).
        coef_: weights of the clamped columns, one row for two classes and else one for each class,
            shape (rows, columns). A column with categories has one for each of them.
        intercept_: biases, shape (rows,).
        n_features_in_: number of columns.
        feature_names_in_: their names, for a DataFrame.
        run_: the `tacet.Run`; ``run_.epsilon`` is its guarantee.
    """

    _estimator_type = "classifier"  # read by scikit-learn before 1.6
    _unit_rate = 20.0

    def __init__(
        self,
        *,
        target_epsilon: float | None = None,
        noise_multiplier: float | None = None,
        delta: float = 1e-5,
        unit: Unit = "record",
        neighbouring: Neighbouring = "replace-one",
        colluders: int = 0,
        appearances: int | None = None,
        bounds: tuple[Any, Any] | Mapping[str, Any] | None = None,
        rounds: int = 10,
        cohort: int | None = None,
        record_rate: float = 1.0,
        clip_norm: float | None = None,
        learning_rate: float | None = None,
        local_steps: int = 10,
        session: Session | None = None,
        out: str | os.PathLike[str] | None = None,
        insecure_seed: int | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            target_epsilon=target_epsilon,
            noise_multiplier=noise_multiplier,
            delta=delta,
            unit=unit,
            neighbouring=neighbouring,
            colluders=colluders,
            appearances=appearances,
            bounds=bounds,
            rounds=rounds,
            cohort=cohort,
            record_rate=record_rate,
            clip_norm=clip_norm,
            learning_rate=learning_rate,
            local_steps=local_steps,
            session=session,
            out=out,
            insecure_seed=insecure_seed,
        )
        self.classes = classes

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn 1.6 and later that this is a classifier."""
        return _tags("classifier")

    def fit(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        *,
        clients: ArrayLike | None = None,
        persons: ArrayLike | None = None,
        member: Member | None = None,
    ) -> Self:
        """Train on rows ``X`` with labels ``y``.

        Args:
            X: shape (rows, n_features), finite numbers; or a pandas DataFrame.
            y: shape (rows,), values of ``classes``.
            clients: shape (rows,), the site of each row, for a simulation: numbers or texts.
            persons: shape (rows,), the person of each row, for unit person: numbers or texts.
            member: this site's member of a live federation, instead of ``clients``: the rows are
                the site's.

        Raises:
            ValueError: a value is wrong; the text names it. InvalidArgumentError, which is one: a
                row has no client, a column no bounds.
            TypeError: an array is masked, or an argument has another type.
            BudgetError: the session has too little left; nothing was spent.
        """
        self._check_call(clients, persons, member)
        if self.classes is None:
            text = "give classes: they cannot be taken from the data"
            raise ValueError(text)
        classes = np.unique(np.array(list_of("classes", self.classes)))
        if len(classes) < 2:
            text = f"classes = {self.classes!r}: wanted two or more"
            raise ValueError(text)
        columns, rows, labels = read_rows(X, y, self.bounds)
        unknown = np.setdiff1d(labels, classes)
        if len(unknown) > 0:
            text = f"y holds {unknown[:3].tolist()}, which are not among classes: name all labels"
            raise ValueError(text)
        hot = np.eye(len(classes))[np.searchsorted(classes, labels)]
        self._train(
            columns,
            rows,
            hot[:, 1:] if len(classes) == 2 else hot,
            clients=clients,
            persons=persons,
            member=member,
            what="logistic regression",
        )
        self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the probability of each class, shape (rows, n_classes), in [0, 1].

        Args:
            X: rows with the columns of the fit.

        Raises:
            ValueError: the classifier is not fitted, or X does not fit.
        """
        found = probabilities(self._scores(X))
        return np.concatenate([1 - found, found], axis=1) if found.shape[1] == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the most probable class of each row of X, shape (rows,); see `predict_proba`."""
        best = self.predict_proba(X).argmax(axis=1)
        found: NDArray[Any] = self.classes_[best]
        return found

    def score(self, X: Any, y: ArrayLike) -> float:  # noqa: N803
        """Return the share of rows of X whose class is that in y, shape (rows,): in [0, 1]."""
        found = self.predict(X)
        return float(np.mean(found == row_values("y", y, len(found))))


class FederatedRegressor(LinearEstimator):
    """Linear regression, trained by a federation as `FederatedClassifier` is.

    Args:
        target_epsilon: as of `FederatedClassifier`, with all others but ``classes``.
        learning_rate: None: 5, for unit client 0.1.
        target_bounds: public range (low, high) of the target; values beyond are clamped.

    Attributes:
        coef_: weights of the clamped columns, shape (columns,).
        intercept_: a number.
        n_features_in_: number of columns.
        feature_names_in_: their names, for a DataFrame.
        run_: the `tacet.Run`; ``run_.epsilon`` is its guarantee.
    """

    _estimator_type = "regressor"  # read by scikit-learn before 1.6
    _unit_rate = 5.0

    def __init__(
        self,
        *,
        target_epsilon: float | None = None,
        noise_multiplier: float | None = None,
        delta: float = 1e-5,
        unit: Unit = "record",
        neighbouring: Neighbouring = "replace-one",
        colluders: int = 0,
        appearances: int | None = None,
        bounds: tuple[Any, Any] | Mapping[str, Any] | None = None,
        rounds: int = 10,
        cohort: int | None = None,
        record_rate: float = 1.0,
        clip_norm: float | None = None,
        learning_rate: float | None = None,
        local_steps: int = 10,
        session: Session | None = None,
        out: str | os.PathLike[str] | None = None,
        insecure_seed: int | None = None,
        target_bounds: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(
            target_epsilon=target_epsilon,
            noise_multiplier=noise_multiplier,
            delta=delta,
            unit=unit,
            neighbouring=neighbouring,
            colluders=colluders,
            appearances=appearances,
            bounds=bounds,
            rounds=rounds,
            cohort=cohort,
            record_rate=record_rate,
            clip_norm=clip_norm,
            learning_rate=learning_rate,
            local_steps=local_steps,
            session=session,
            out=out,
            insecure_seed=insecure_seed,
        )
        self.target_bounds = target_bounds

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn 1.6 and later that this is a regressor."""
        return _tags("regressor")

    def fit(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        *,
        clients: ArrayLike | None = None,
        persons: ArrayLike | None = None,
        member: Member | None = None,
    ) -> Self:
        """Train on rows ``X`` with targets ``y``: finite numbers of shape (rows,).

        ``clients``, ``persons``, ``member`` and the errors are those of `FederatedClassifier.fit`.
        """
        self._check_call(clients, persons, member)
        if self.target_bounds is None:
            text = "give target_bounds: they cannot be taken from the data"
            raise ValueError(text)
        ends = list_of("target_bounds", self.target_bounds, "two numbers, (low, high)")
        if len(ends) != 2:
            text = f"target_bounds = {self.target_bounds!r}: wanted two numbers, (low, high)"
            raise ValueError(text)
        low, high = interval_of("target_bounds", *ends)
        scale, middle = 2 / (high - low), (low + high) / 2
        columns, rows, labels = read_rows(X, y, self.bounds)
        targets = (np.clip(_targets(labels), low, high) - middle) * scale
        self._train(
            columns,
            rows,
            targets[:, None],
            clients=clients,
            persons=persons,
            member=member,
            what="linear regression",
        )
        self.coef_ = self.coef_[0] / scale
        self.intercept_ = float(self.intercept_[0] / scale + middle)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the expected target of each row of X, shape (rows,), in its unit.

        Raises:
            ValueError: the regressor is not fitted, or X does not fit.
        """
        return self._scores(X)

    def score(self, X: Any, y: ArrayLike) -> float:  # noqa: N803
        """Return R² of X and y, the share of the variance that is explained: at most 1."""
        found = self.predict(X)
        wanted = _targets(row_values("y", y, len(found)))
        rest = float(np.sum((wanted - found) ** 2))
        return 1 - rest / float(np.sum((wanted - wanted.mean()) ** 2))


def _targets(values: NDArray[Any]) -> NDArray[np.float64]:
    """Targets as numbers; InvalidArgumentError for texts, NaN and infinite ones."""
    numbers = plain_array("y", values, np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        text = (
            f"y holds {len(wrong)} values that are not finite, the first in row {wrong[0]}: leave "
            "such rows out"
        )
        raise InvalidArgumentError(text)
    return numbers
