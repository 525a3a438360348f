"""Building blocks of secure aggregation with differential privacy: bytes in and out.

A round, each step next to its own data::

    agreement = agree(members=public_keys, dimension=d, rounds=1, noise_multiplier=2)
    client = Client(agreement, number, key, epoch_key)                         # each client
    attempt = AttemptId(0, model_digest=client.model_digest(model))
    sealed = client.seal(attempt, update)
    packets = [client.key_packet for client in clients]                        # once an epoch
    server = Aggregator(agreement, attempt, packets)                           # the server, no key
    server.submit(number, sealed.upload)
    closed_round, roster = server.close()
    seat = client.seat(attempt, packets, nonce=sealed.nonce, acknowledged=True)  # each seat
    vote = seat.vote(closed_round, roster)
    share = seat.unmask(votes)
    aggregate = client.decrypt(attempt, closed_round, votes, shares)           # each client
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from . import _core
from ._core import (
    Aggregate,
    Aggregator,
    AttemptId,
    Client,
    CommitteeSeat,
    EpochKey,
    MemberKey,
    MemberPublicKey,
    SealedUpdate,
)
from .arguments import whole_number_of
from .durable_file import create_file

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Unpack

    from .privacy import FederationOptions

__all__ = [
    "Aggregate",
    "Aggregator",
    "Agreement",
    "AttemptId",
    "Client",
    "CommitteeSeat",
    "EpochKey",
    "FileJournal",
    "Journal",
    "MemberKey",
    "MemberPublicKey",
    "SealedUpdate",
    "agree",
]

Agreement = _core.Agreement


def agree(
    *,
    members: Sequence[MemberPublicKey],
    dimension: int,
    committee: Sequence[int] = (),
    epoch: int = 0,
    spare_attempts: int = 10,
    context: str = "",
    **federation: Unpack[FederationOptions],
) -> Agreement:
    """Agreement of a federation: options, members and committee, checked together.

    Args:
        members: public keys; a member's number is its place in this list.
        dimension: d, number of values of an update.
        committee: numbers of the members on the committee, by seat. Empty: the first members.
        epoch: number of the period in which members and keys stay the same.
        spare_attempts: failed attempts that are permitted in all rounds together.
        context: anything else that the members agree on; bound into the digest.
        **federation: `FederationOptions`; ``clients`` may be left out.

    Raises:
        InvalidArgumentError: names the value that is wrong, its range and the remedy.
    """
    for number, key in enumerate(members):
        if not isinstance(key, MemberPublicKey):
            text = (
                f"members[{number}] is of type {type(key).__name__}: wanted a MemberPublicKey, "
                "which is the public_key of a MemberKey"
            )
            raise TypeError(text)
    return Agreement.create(
        dict(federation),
        whole_number_of("dimension", dimension),
        list(members),
        [whole_number_of("committee", member) for member in committee],
        whole_number_of("epoch", epoch),
        whole_number_of("spare_attempts", spare_attempts),
        context,
    )


class Journal(Protocol):
    """Durable memory of a committee seat, which answers each question once.

    It must live as long as the member's keys. Never delete it or restore it from a backup.
    """

    def record(self, key: str, message: bytes) -> None:
        """Store ``message`` under a new key; durable when it returns."""

    def find(self, key: str) -> bytes | None:
        """Return the message under ``key``, or None."""


class FileJournal:
    """A journal in a folder: one file for each answer, written before the answer is given."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def record(self, key: str, message: bytes) -> None:
        """Store ``message`` under a new key; durable when it returns."""
        create_file(self._folder / key, message)

    def find(self, key: str) -> bytes | None:
        """Return the message under ``key``, or None."""
        try:
            return (self._folder / key).read_bytes()
        except FileNotFoundError:
            return None
