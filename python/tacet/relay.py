"""Server of a federation inside another framework: adds sealed updates and relays messages.

A `Relay` holds no key. It sees who uploads and when, sealed bytes, and digests of models; never an
update, a sum or a model.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .durable_file import replace_file
from .errors import BudgetError, FailedPreconditionError, TacetError, UnavailableError
from .outcome import Outcome
from .secagg import Aggregator, AttemptId

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from .key_files import StrPath
    from .terms import Terms

__all__ = ["Relay", "Upload"]


class Upload:
    """A member's upload with what it says about itself."""

    def __init__(self, member: int, round: int, digest: bytes, content: bytes) -> None:
        self.member = member
        self.round = round
        self.digest = digest
        self.content = content


class Relay:
    """Rounds of a federation, one attempt at a time.

    Args:
        terms: the agreed `Terms`.
        folder: keeps outcomes and the attempt's number; None keeps them in memory.

    Attributes:
        terms: the agreed `Terms`.
        round: rounds that have an outcome.
        attempt: number of the present attempt.
        outcomes: outcome of each round, for members that were absent.
        members: member of each client of the framework that was seen.
    """

    def __init__(self, terms: Terms, *, folder: StrPath | None = None) -> None:
        self.terms = terms
        self.attempt = 0
        self.outcomes: list[bytes] = []
        self._folder = None if folder is None else Path(folder) / terms.digest
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            while (path := self._outcome_path(len(self.outcomes))).exists():
                self.outcomes.append(path.read_bytes())
            if (path := self._attempt_path()).exists():
                self.attempt = int(path.read_text(encoding="ascii"))
        self.round = len(self.outcomes)
        self.members: dict[Hashable, int] = {}
        self._id: AttemptId | None = None
        self._closed: tuple[bytes, bytes] = (b"", b"")

    def check_open(self) -> None:
        """Raise unless another attempt is permitted.

        Raises:
            BudgetError: all rounds or spare attempts are done.
        """
        if self.round >= self.terms.rounds:
            text = f"all {self.terms.rounds} agreed rounds are done"
            raise BudgetError(text)
        if self.attempt > self.terms.spare_attempts:
            text = (
                f"round {self.round} has failed {self.attempt} times: no spare attempt is left. "
                "Agree on new terms"
            )
            raise BudgetError(text)

    def _outcome_path(self, round_number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"outcome-{round_number}"

    def _attempt_path(self) -> Path:
        assert self._folder is not None
        return self._folder / f"attempt-{len(self.outcomes)}"

    def fail(self) -> None:
        """End the attempt without an outcome."""
        self.attempt += 1
        self._id = None
        if self._folder is not None:
            replace_file(self._attempt_path(), str(self.attempt).encode())

    def introduce(self, client: Hashable, member: int) -> None:
        """Note the member number that a client states; the first statement counts.

        Raises:
            FailedPreconditionError: it stated another number before, or another client has it.
        """
        if not 0 <= member < len(self.terms.members):
            text = f"client {client} says that it is member {member}, which there is not"
            raise FailedPreconditionError(text)
        known = self.members.get(client)
        if known is not None and known != member:
            text = f"client {client} is member {known} and says that it is member {member}"
            raise FailedPreconditionError(text)
        if known is None and member in self.members.values():
            text = f"client {client} says that it is member {member}, as another client did"
            raise FailedPreconditionError(text)
        self.members[client] = member

    def close(self, uploads: Mapping[Any, Upload]) -> tuple[bytes, bytes, dict[Hashable, str]]:
        """Add the uploads of an attempt and close it.

        Returns:
            Closed round, roster, and for each client that is not in the sum the reason.

        Raises:
            UnavailableError: fewer uploads fit than the terms need.
        """
        refused: dict[Hashable, str] = {}
        fitting: dict[Hashable, Upload] = {}
        for client, upload in uploads.items():
            try:
                self.introduce(client, upload.member)
            except FailedPreconditionError as error:
                refused[client] = str(error)
                continue
            if upload.round == self.round:
                fitting[client] = upload
            else:
                refused[client] = f"it is at round {upload.round}, the others at {self.round}"
        digests = Counter(upload.digest for upload in fitting.values())
        common = digests.most_common(1)[0][0] if digests else bytes(32)
        self._id = AttemptId(self.round, self.attempt, model_digest=common)
        aggregator = Aggregator(self.terms.agreement, self._id)
        for client, upload in fitting.items():
            if upload.digest != common:
                refused[client] = "its model is not that of most members"
                continue
            try:
                aggregator.submit(upload.member, upload.content)
            except TacetError as error:
                refused[client] = str(error)
        needed = self.terms.agreement.min_participants
        if len(aggregator) < needed:
            text = f"{len(aggregator)} uploads fit, {needed} are needed"
            reasons = "; ".join(f"client {client}: {why}" for client, why in refused.items())
            raise UnavailableError(f"{text}. {reasons}" if reasons else text)
        self._closed = aggregator.close()
        return *self._closed, refused

    def seats(self) -> list[Hashable]:
        """Clients that were seen and are on the committee."""
        committee = set(self.terms.agreement.committee)
        return [client for client, member in self.members.items() if member in committee]

    def check_votes(self, votes: list[bytes]) -> None:
        """Raise UnavailableError unless there are enough votes to ask for shares."""
        needed = self.terms.agreement.votes_needed
        if len(votes) < needed:
            text = f"{len(votes)} committee members voted, {needed} are needed"
            raise UnavailableError(text)

    def finish(self, votes: list[bytes], shares: list[bytes]) -> bytes:
        """Return the outcome for the members; `accept` keeps it.

        Raises:
            UnavailableError: too few unmask shares.
        """
        needed = self.terms.agreement.votes_needed
        if self._id is None:
            text = "no attempt is closed"
            raise FailedPreconditionError(text)
        if len(shares) < needed:
            text = f"{len(shares)} committee members unmasked, {needed} are needed"
            raise UnavailableError(text)
        return Outcome(self._id, self._closed[0], tuple(votes), tuple(shares)).to_bytes()

    def accept(self, outcome: bytes) -> None:
        """Keep an outcome that members have applied: the next round begins."""
        if self._folder is not None:
            replace_file(self._outcome_path(self.round), outcome)
        self.outcomes.append(outcome)
        self.round += 1
        self.attempt = 0
        self._id = None
