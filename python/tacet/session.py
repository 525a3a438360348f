"""One privacy budget for all that an analysis computes from the same data."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, NoReturn

from . import _core
from .arguments import number_of, text_of
from .privacy import Neighbouring, Unit

__all__ = ["Session", "budget_of"]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Session:
    """A privacy budget that simulations, classifiers, searches and queries share.

    Give it to each call: ``tacet.simulate(..., session=session)``,
    ``tacet.sklearn.FederatedClassifier(session=session)``, ``tacet.statistics.ask(...,
    session=session)``. A call is charged before it begins, with all attempts that it may make, and
    is refused when they do not fit. Its end gives back attempts that were not made, also where it
    failed. The accountants compose the calls, so equal calls cost less than their sum, and the
    budget holds whatever calls follow from earlier results
    (docs/security/privacy.md, "Filters").

    Threads share a session. Copies are the same session, so scikit-learn's searches share it, too.
    It is not pickled, and a forked process is refused: what happens there would not be counted. The
    budget is as old as the object, and covers the calls that got it. Figures that are computed from
    the data without noise, such as the scores of a search on rows of the sites, are outside of it.

    Args:
        budget_epsilon: epsilon that all calls together may spend, above 0 and finite.
        unit: data that the budget hides: "client", "person" or "record". Calls with another unit
            are refused.
        delta: delta of the budget, in (0, 1).
        neighbouring: "replace-one" or "zero-out". Calls with the other one are refused.

    Raises:
        InvalidArgumentError: a value is out of range; the text names it.

    >>> session = Session(budget_epsilon=3, unit="record")
    >>> session.spent()
    0.0
    """

    budget_epsilon: float
    unit: Unit
    delta: float = 1e-5
    neighbouring: Neighbouring = "replace-one"
    _budget: _core.SharedBudget = field(init=False)

    def __post_init__(self) -> None:
        """Make the budget, which checks its terms."""
        budget = _core.SharedBudget.create(
            number_of("budget_epsilon", self.budget_epsilon),
            number_of("delta", self.delta),
            text_of("unit", self.unit),
            text_of("neighbouring", self.neighbouring),
        )
        object.__setattr__(self, "_budget", budget)

    def spent(self) -> float:
        """Epsilon of all calls so far, at the session's delta.

        It is the guarantee of calls that were fixed beforehand, such as those of one search. For
        calls that were chosen after earlier results the guarantee is ``budget_epsilon``
        (docs/security/privacy.md, "Stopping early"). Calls that continue count with all attempts
        that they may make. While all calls are equal, it is the smallest bound of all accountants,
        else that of the filters which admit calls.

        Raises:
            FailedPreconditionError: this is a process that was forked from the session's.
        """
        return self._budget.spent()

    def remaining(self) -> float:
        """Epsilon of one more call that fits; 0.0 when none does.

        A call without sampling of rows, with Gaussian noise and the session's delta, is admitted
        with this ``target_epsilon``. Others may need a smaller one: a refusal names the noise that
        fits. Several calls fit whose epsilons add up to more.

        Raises:
            FailedPreconditionError: this is a process that was forked from the session's.
        """
        return self._budget.remaining()

    @property
    def history(self) -> Any:
        """The calls, in the order of their charges: a pandas DataFrame, or a list of dictionaries.

        Columns are "call" ("simulate" or "ask"), "attempts" (those that were charged), "epsilon"
        (of these attempts alone) and "ended". The list is for Python without pandas.
        """
        records = [
            {
                "call": run.name,
                "attempts": run.attempts,
                "epsilon": run.epsilon,
                "ended": run.ended,
            }
            for run in self._budget.runs()
        ]
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError:
            return records
        return pandas.DataFrame(records, columns=["call", "attempts", "epsilon", "ended"])

    def __copy__(self) -> Session:
        return self

    def __deepcopy__(self, memo: object) -> Session:
        return self

    def __reduce__(self) -> NoReturn:
        text = (
            "a Session is not pickled: another process would spend its budget again. Leave out "
            "n_jobs, or run the jobs in threads: joblib.parallel_config(backend='threading')"
        )
        raise TypeError(text)

    def __repr__(self) -> str:
        return (
            f"<Session epsilon {self.spent():.3g} of {self.budget_epsilon:.3g} spent at delta "
            f"{self.delta:.3g}, unit {self.unit}, {self.neighbouring}>"
        )


def budget_of(session: Any) -> _core.SharedBudget | None:
    """Return the budget of a session for a call; TypeError for anything else.

    >>> budget_of(3)
    Traceback (most recent call last):
    TypeError: session = 3: wanted a tacet.Session or None
    """
    if session is None:
        return None
    if not isinstance(session, Session):
        text = f"session = {session!r}: wanted a tacet.Session or None"
        raise TypeError(text)
    return session._budget
