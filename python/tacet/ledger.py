"""Ledgers of spent privacy, as ``tacet ledger`` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import programs
from .arguments import path_of
from .run_page import folder_of
from .simulation import Run

if TYPE_CHECKING:
    import os

__all__ = ["Ledger", "show"]


@dataclass(frozen=True)
class Ledger:
    """The content of a ledger.

    Attributes:
        population: name of the population whose data it charges.
        charges: number of charges so far.
        epsilon: of all charges; None without a guarantee.
        delta: at which ``epsilon`` is stated.
        budget_epsilon: largest epsilon that is permitted; None without a budget.
        epsilon_left: rest of the budget; None without a budget.
        facts: everything that the program prints (docs/formats/ledger.md, ``show --json``).
    """

    population: str
    charges: int
    epsilon: float | None
    delta: float
    budget_epsilon: float | None
    epsilon_left: float | None
    facts: dict[str, Any]


def show(path: Run | str | os.PathLike[str]) -> Ledger:
    """Return the charges of a ledger, their epsilon, and what is left of its budget.

    Args:
        path: of the ledger, or a run that was kept, whose ledger is ``ledger`` in its directory.

    Raises:
        ProgramError: there is no ledger, or it is damaged; the text says where.
        ValueError: nothing of the run was kept.
    """
    file = folder_of(path) / "ledger" if isinstance(path, Run) else path_of("path", path)
    facts = programs.call_json("ledger", "show", "--json", "--", file)
    return Ledger(
        population=facts["population"],
        charges=facts["charges"],
        epsilon=facts["epsilon"],
        delta=facts["delta"],
        budget_epsilon=facts["budget_epsilon"],
        epsilon_left=facts["epsilon_left"],
        facts=facts,
    )
