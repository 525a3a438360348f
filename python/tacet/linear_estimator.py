"""Arguments, checks and training that the estimators of ``tacet.sklearn`` share."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .arguments import number_of, short, whole_number_of
from .columns import Columns, plain_array
from .errors import InvalidArgumentError
from .linear_training import CENTRE, LinearModel, Site, logistic_error, squared_error
from .member import Member
from .owners import owner_numbers, unit_rows
from .privacy import Privacy, unit_sum_bounds
from .simulation import Run, simulate

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from .privacy import Neighbouring, Unit
    from .session import Session

__all__ = ["LinearEstimator", "read_rows", "row_values"]

# Clip norm of a unit's gradient over the root of the number of encoded columns.
_CLIP = 0.1
# Learning rate of the last round over that of the first one.
_LAST_RATE = 0.3


class LinearEstimator:
    """A linear model of a federation; `tacet.sklearn` has its public forms."""

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
        bounds: Any = None,
        rounds: int = 10,
        cohort: int | None = None,
        record_rate: float = 1.0,
        clip_norm: float | None = None,
        learning_rate: float | None = None,
        local_steps: int = 10,
        session: Session | None = None,
        out: str | os.PathLike[str] | None = None,
        insecure_seed: int | None = None,
    ) -> None:
        self.target_epsilon = target_epsilon
        self.noise_multiplier = noise_multiplier
        self.delta = delta
        self.unit = unit
        self.neighbouring = neighbouring
        self.colluders = colluders
        self.appearances = appearances
        self.bounds = bounds
        self.rounds = rounds
        self.cohort = cohort
        self.record_rate = record_rate
        self.clip_norm = clip_norm
        self.learning_rate = learning_rate
        self.local_steps = local_steps
        self.session = session
        self.out = out
        self.insecure_seed = insecure_seed

    coef_: NDArray[np.float64]
    intercept_: Any
    _unit_rate: float
    """Default of ``learning_rate`` for the units record and person."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments; `deep` changes nothing: none is an estimator."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor."""
        for name, value in params.items():
            if name not in self.get_params():
                text = f"there is no parameter {name!r}; they are {', '.join(self.get_params())}"
                raise ValueError(text)
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = (
            f"{name}={short(value)}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and repr(value) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(given)})"

    def _train(
        self,
        columns: Columns,
        rows: NDArray[np.float64],
        targets: NDArray[np.float64],
        *,
        clients: Any,
        persons: Any,
        member: Member | None,
        what: str,
    ) -> None:
        """Train on encoded rows; sets the attributes that a fit gives."""
        clip_norm = _CLIP * np.sqrt(columns.width + 1) if self.clip_norm is None else self.clip_norm
        clip_norm = _positive("clip_norm", clip_norm)
        by_client = self.unit == "client"
        default = 0.1 if by_client else self._unit_rate
        rate = _positive(
            "learning_rate", default if self.learning_rate is None else self.learning_rate
        )
        error = logistic_error if what.startswith("logistic") else squared_error
        centre_step = 0.0 if by_client else 1 / (rate * CENTRE)
        model = LinearModel(columns.width, targets.shape[1], error, centre_step)
        steps = whole_number_of("local_steps", self.local_steps, least=1)
        sites = _sites(
            rows,
            targets,
            [0] * len(rows) if member is not None else owner_numbers("clients", clients, len(rows)),
            None if self.unit != "person" else owner_numbers("persons", persons, len(rows)),
            (
                1
                if self.appearances is None
                else whole_number_of("appearances", self.appearances, least=1)
            ),
        )

        def train_client(
            parameters: NDArray[np.float32], client: int, round: int  # noqa: A002
        ) -> NDArray[np.float32]:
            return model.local_update(parameters, sites[_place(client)], steps, rate)

        def train_units(
            parameters: NDArray[np.float32], client: int, units: list[int], clip_norm: float
        ) -> NDArray[np.float32]:
            return model.sum_of_clipped(parameters, sites[_place(client)], units, clip_norm)

        def _place(client: int) -> int:
            return 0 if member is not None else client  # a member has a number of its own

        train = train_client if by_client else train_units
        if member is None:
            run = self._simulate(train, model, sites, clip_norm=clip_norm, rate=rate, what=what)
        else:
            _check_agreed(member, model, None if by_client else rate)
            run = member.run(train)
        self.run_: Run = run
        self.n_features_in_ = columns.count
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        self._columns = columns
        weights, biases, centre = model.parts(run.model)
        self.coef_ = weights * columns.scale
        self.intercept_ = biases - weights @ (centre + columns.middle * columns.scale)

    def _simulate(
        self,
        train: Any,
        model: LinearModel,
        sites: list[Site],
        *,
        clip_norm: float,
        rate: float,
        what: str,
    ) -> Run:
        by_client = self.unit == "client"
        privacy = Privacy(
            target_epsilon=self.target_epsilon,
            noise_multiplier=self.noise_multiplier,
            delta=self.delta,
            unit=self.unit,
            neighbouring=self.neighbouring,
            colluders=self.colluders,
            clip_norm=clip_norm,
            record_rate=None if by_client else self.record_rate,
            appearances=None if by_client else self.appearances,
            max_absent=None if by_client else 0,  # in a simulation nobody is
        )
        if not by_client:
            privacy = unit_sum_bounds(privacy, model.parameters)
        return simulate(
            train,
            clients=len(sites),
            initial=np.zeros(model.parameters, dtype=np.float32),
            privacy=privacy,
            units=[] if by_client else [site.units for site in sites],
            rounds=self.rounds,
            cohort=self.cohort,
            learning_rate=1.0 if by_client else rate,
            learning_rate_final=None if by_client else _LAST_RATE * rate,
            architecture=f"{what}, {model.outputs} outputs of {model.width} columns",
            session=self.session,
            out=self.out,
            insecure_seed=self.insecure_seed,
        )

    def _check_call(self, clients: Any, persons: Any, member: Member | None) -> None:
        if (clients is None) == (member is None):
            text = "give clients for a simulation, or member for a live federation"
            raise ValueError(text)
        if (self.unit == "person") != (persons is not None):
            text = "give persons, the person of each row, with unit person and with no other unit"
            raise ValueError(text)
        if member is None:
            return
        if not isinstance(member, Member):
            text = f"member = {member!r}: wanted a tacet.Member"
            raise TypeError(text)
        if self.session is not None:
            text = "session is for simulations: a live member's ledger charges its budget"
            raise ValueError(text)
        if member.unit != self.unit:
            text = (
                f"the federation's unit is {member.unit}, the model's {self.unit}: take the "
                "agreed one"
            )
            raise ValueError(text)

    def _scores(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        if not hasattr(self, "coef_"):
            text = f"the {type(self).__name__} is not fitted: call fit first"
            raise ValueError(text)
        found: NDArray[np.float64] = self._columns.expand(X) @ self.coef_.T + self.intercept_
        return found


def _positive(name: str, value: Any) -> float:
    number = number_of(name, value)
    if not 0 < number < math.inf:
        text = f"{name} = {value!r}: wanted a finite number above 0"
        raise InvalidArgumentError(text)
    return number


def _sites(
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    owners: list[int],
    persons: list[int] | None,
    appearances: int,
) -> list[Site]:
    """Rows of each owner; those of a person follow each other."""
    return [
        Site(rows[places], targets[places], starts)
        for places, starts in unit_rows(owners, persons, appearances=appearances)
    ]


def _check_agreed(member: Member, model: LinearModel, rate: float | None) -> None:
    agreed = member.initial_model.size
    if agreed != model.parameters:
        text = (
            f"the federation agreed on {agreed} parameters, this model has {model.parameters} "
            f"({model.outputs} outputs of {model.width} columns): use the agreed classes and "
            "columns"
        )
        raise ValueError(text)
    if rate is not None and rate != member.learning_rate:
        text = (
            f"the federation agreed on server.learning_rate = {member.learning_rate}, and this "
            f"model has learning_rate = {rate}: give the agreed one"
        )
        raise ValueError(text)


def read_rows(X: Any, y: Any, bounds: Any) -> tuple[Columns, NDArray[np.float64], NDArray[Any]]:  # noqa: N803
    """Columns, encoded rows, and labels."""
    columns = Columns(X, bounds)
    rows = columns.encode(X)
    if len(rows) == 0:
        text = "X has no rows: give at least one"
        raise InvalidArgumentError(text)
    return columns, rows, row_values("y", y, len(rows))


def row_values(name: str, values: Any, rows: int) -> NDArray[Any]:
    """Return one value for each row, shape (rows,); InvalidArgumentError for another shape."""
    array = plain_array(name, values)
    if array.shape != (rows,):
        text = f"X has {rows} rows, {name} has shape {array.shape}: wanted ({rows},)"
        raise InvalidArgumentError(text)
    return array
