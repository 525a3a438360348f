"""Exceptions of tacet, with the text that the program prints.

Each is a ``ValueError`` when the caller can correct it, else a ``RuntimeError``.
"""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "BudgetError",
    "CancelledError",
    "DataLossError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "PermissionDeniedError",
    "ProgramError",
    "TacetError",
    "UnavailableError",
]


class TacetError(Exception):
    """Any error of the library."""


class InvalidArgumentError(TacetError, ValueError):
    """A value is wrong: the text names it, its range and the remedy."""


class NotFoundError(TacetError, ValueError):
    """No value reaches a target, or there is nothing of the name that was given."""


class AlreadyExistsError(TacetError, ValueError):
    """Something is there already: another upload of the member, a run directory."""


class FailedPreconditionError(TacetError, RuntimeError):
    """The call does not fit the state: another attempt, another agreement, closed already."""


class PermissionDeniedError(TacetError, RuntimeError):
    """A site's policy, a signature, a passphrase or a key does not permit it."""


class DataLossError(TacetError, RuntimeError):
    """A message or file is damaged or manipulated: the text says which check failed."""


class ProgramError(TacetError, RuntimeError):
    """A program of the package refused or failed: the text is the program's."""


class UnavailableError(TacetError, RuntimeError):
    """It may succeed later: more votes or shares, a server that answers again."""


class BudgetError(TacetError, RuntimeError):
    """The privacy budget, or another limit that was set, does not permit it."""


class CancelledError(TacetError, RuntimeError):
    """The work was stopped by its user."""


class InternalError(TacetError, RuntimeError):
    """An error of the program itself."""
