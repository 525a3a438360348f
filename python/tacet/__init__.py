"""Federated learning with secure aggregation and differential privacy.

>>> import tacet
>>> g = tacet.guarantee(clients=100, cohort=20, rounds=10, noise_multiplier=6, delta=1e-5)
>>> print(g.explain().splitlines()[0] != "")
True
"""

from __future__ import annotations

from . import _core, audit, enrolment, errors, ledger, secagg
from .coordinator import Coordinator
from .errors import (
    AlreadyExistsError,
    BudgetError,
    CancelledError,
    DataLossError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ProgramError,
    TacetError,
    UnavailableError,
)
from .member import Member, Task
from .privacy import (
    FederationOptions,
    Guarantee,
    GuaranteeRow,
    Privacy,
    calibrate,
    guarantee,
)
from .relay_server import RelayServer
from .run_page import report
from .server import Server
from .session import Session
from .simulation import Evaluation, Run, open_run, simulate

__all__ = [
    "AlreadyExistsError",
    "BudgetError",
    "CancelledError",
    "Coordinator",
    "DataLossError",
    "Evaluation",
    "FailedPreconditionError",
    "FederationOptions",
    "Guarantee",
    "GuaranteeRow",
    "InternalError",
    "InvalidArgumentError",
    "Member",
    "NotFoundError",
    "PermissionDeniedError",
    "Privacy",
    "ProgramError",
    "RelayServer",
    "Run",
    "Server",
    "Session",
    "TacetError",
    "Task",
    "UnavailableError",
    "audit",
    "calibrate",
    "enrolment",
    "errors",
    "guarantee",
    "ledger",
    "open_run",
    "report",
    "secagg",
    "simulate",
]

__version__: str = _core.version()
