"""Server of a federation inside another framework: adds sealed updates and relays messages.

A `Relay` holds no key. It sees who uploads and when, sealed bytes, and digests of models; never an
update, a sum or a model.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .durable_file import replace_file
from .errors import BudgetError, FailedPreconditionError, TacetError, UnavailableError
from .outcome import Outcome
from .requests import APPLY, SEAL, UNMASK, VOTE, check_reply
from .secagg import Aggregator, AttemptId

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from .key_files import StrPath
    from .terms import Terms

__all__ = ["Relay", "Send"]

_SEATS = "see the failures of its other seats, and keep their clients connected"


class Send(Protocol):
    """Function of a framework: sends a request to each client, and returns what they answer."""

    def __call__(
        self, requests: dict[Any, dict[str, Any]]
    ) -> Mapping[Any, Mapping[str, Any] | str]:
        """Return the fields of each answer, or why there is none."""


class Relay:
    """Rounds of a federation, one attempt at a time.

    An outcome is stored before any site can apply it. The relay sends it again until enough
    committee seats have applied it to vote in the next round. It gives the outcome up only when so
    many seats refuse it that this cannot happen, and more than may be corrupt; a lost answer is not
    a refusal.

    Args:
        terms: the agreed `Terms`.
        folder: keeps outcomes and the attempt's number; None keeps them in memory.

    Attributes:
        terms: the agreed `Terms`.
        round: rounds that have an outcome.
        attempt: number of the present attempt.
        outcomes: outcome of each round; only the latest can still be given up.
        failures: texts about clients that failed since the last `begin`.
    """

    def __init__(self, terms: Terms, *, folder: StrPath | None = None) -> None:
        self.terms = terms
        self.attempt = 0
        self.outcomes: list[bytes] = []
        self.failures: list[str] = []
        self._members: dict[Hashable, int] = {}  # of each client of the framework that was seen
        self._applied: dict[Hashable, int] = {}  # rounds that a client has applied, as it says
        self._committee = frozenset(terms.agreement.committee)
        self._folder = None if folder is None else Path(folder) / terms.digest
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            while (path := self._outcome_path(len(self.outcomes))).exists():
                self.outcomes.append(path.read_bytes())
            if (path := self._attempt_path()).exists():
                self.attempt = int(path.read_text(encoding="ascii"))

    @property
    def round(self) -> int:
        """Rounds that have an outcome."""
        return len(self.outcomes)

    def _outcome_path(self, round_number: int) -> Path:
        assert self._folder is not None
        return self._folder / f"outcome-{round_number}"

    def _attempt_path(self) -> Path:
        assert self._folder is not None
        return self._folder / f"attempt-{self.round}"

    def forget_clients(self) -> None:
        """Forget which client is which member: the names of another run of the framework differ."""
        self._members.clear()
        self._applied.clear()

    def begin(self, send: Send, clients: Iterable[Any]) -> None:
        """Begin an attempt, after sending the latest outcome again if it is not settled.

        Args:
            send: sends requests.
            clients: all clients.

        Raises:
            BudgetError: all rounds or spare attempts are done.
            UnavailableError: all rounds are done, and the last outcome is not settled.
        """
        self.failures = []
        if not self._is_settled:
            try:
                self._deliver(send, clients)
            except UnavailableError as error:
                self.failures.append(str(error))
                self.fail()
        if self.round >= self.terms.rounds:
            if not self._is_settled:
                raise UnavailableError(self._unsettled())
            text = f"all {self.terms.rounds} agreed rounds are done: agree on new terms for more"
            raise BudgetError(text)
        if self.attempt > self.terms.spare_attempts:
            text = (
                f"round {self.round} has failed {self.attempt} times: no spare attempt is left. "
                "Agree on new terms"
            )
            raise BudgetError(text)

    def fail(self) -> None:
        """End the attempt without an outcome."""
        self.attempt += 1
        if self._folder is not None:
            replace_file(self._attempt_path(), str(self.attempt).encode())

    def request(self, client: Hashable, stage: str, **more: Any) -> dict[str, Any]:
        """Return the fields of a request, with the outcomes that the client lacks.

        A client that is not known gets the latest one only: when it lacks more, its answer to the
        stage apply says so.
        """
        applied = self._applied.get(client, max(self.round - 1, 0))
        return {
            "terms": self.terms.digest,
            "stage": stage,
            "round": self.round,
            "attempt": self.attempt,
            "outcomes": self.outcomes[applied:],
            **more,
        }

    def read(self, client: Hashable, stage: str, fields: Mapping[str, Any]) -> None:
        """Check an answer, and note what it says of the client.

        Raises:
            FailedPreconditionError: it is not sealed, or in another member's name.
        """
        check_reply(fields, stage)
        member = int(fields["member"])
        if not 0 <= member < len(self.terms.members):
            text = (
                f"it says that it is member {member}, the terms have members 0 to "
                f"{len(self.terms.members) - 1}: let its site join these terms"
            )
            raise FailedPreconditionError(text)
        known = self._members.get(client)
        if known is not None and known != member:
            text = (
                f"it was member {known} and says that it is member {member}: give each client one "
                "folder of a site"
            )
            raise FailedPreconditionError(text)
        if known is None and member in self._members.values():
            text = (
                f"it says that it is member {member}, as another client did: give each client a "
                "folder of its own"
            )
            raise FailedPreconditionError(text)
        self._members[client] = member
        self._applied[client] = max(0, min(int(fields["round"]), self.round))

    def _ask(
        self, send: Send, requests: dict[Any, dict[str, Any]], stage: str
    ) -> dict[Any, Mapping[str, Any]]:
        """Send requests; returns the answers that are sites'."""
        replies: dict[Any, Mapping[str, Any]] = {}
        answers = send(requests) if requests else {}
        for client in requests:
            fields = answers.get(client, "no answer came in time")
            if isinstance(fields, str):
                self.failures.append(f"client {client} did not answer {stage!r}: {fields}")
                continue
            try:
                self.read(client, stage, fields)
            except TacetError as error:
                self.failures.append(f"client {client} is left out: {error}")
                continue
            replies[client] = fields
        return replies

    def collect(self, send: Send, clients: Iterable[Any]) -> dict[Any, Mapping[str, Any]]:
        """Ask clients for sealed updates; returns the answers for `complete`."""
        return self._ask(send, {client: self.request(client, SEAL) for client in clients}, SEAL)

    def complete(
        self, send: Send, uploads: Mapping[Any, Mapping[str, Any]], clients: Iterable[Any]
    ) -> None:
        """Bring an attempt from its uploads to an outcome, and send it to the clients.

        Args:
            send: sends requests.
            uploads: answers to the stage seal that `read` accepted.
            clients: all clients, which apply the outcome.

        Raises:
            UnavailableError: too few clients for a step, or the committee refused the outcome.
                Call `fail` then.
        """
        attempt, closed_round, roster, refused = self._close(uploads)
        self.failures += [
            f"client {client} is not in the sum: {why}" for client, why in refused.items()
        ]
        seats = [client for client, member in self._members.items() if member in self._committee]
        votes = self._ask(
            send,
            {
                client: self.request(
                    client,
                    VOTE,
                    closed_round=closed_round,
                    roster=roster,
                    acknowledged=client in uploads and client not in refused,
                )
                for client in seats
            },
            VOTE,
        )
        needed = self.terms.agreement.votes_needed
        if len(votes) < needed:
            text = f"{len(votes)} committee members voted, {needed} are needed: {_SEATS}"
            raise UnavailableError(text)
        ballots = [bytes(fields["vote"]) for fields in votes.values()]
        shares = self._ask(
            send, {client: self.request(client, UNMASK, votes=ballots) for client in votes}, UNMASK
        )
        if len(shares) < needed:
            text = f"{len(shares)} committee members unmasked, {needed} are needed: {_SEATS}"
            raise UnavailableError(text)
        parts = tuple(bytes(fields["share"]) for fields in shares.values())
        self._store(Outcome(attempt, closed_round, tuple(ballots), parts).to_bytes())
        self._deliver(send, clients)
        if not self._is_settled:
            self.failures.append(self._unsettled())

    def _close(
        self, uploads: Mapping[Any, Mapping[str, Any]]
    ) -> tuple[AttemptId, bytes, bytes, dict[Any, str]]:
        """Attempt, closed round, roster, and why a client is not in the sum."""
        refused: dict[Any, str] = {}
        fitting: dict[Any, Mapping[str, Any]] = {}
        for client, fields in uploads.items():
            if fields["round"] == self.round:
                fitting[client] = fields
            else:
                refused[client] = f"it is at round {fields['round']}, the server at {self.round}"
        digests = Counter(bytes(fields["model"]) for fields in fitting.values())
        common = max(digests, key=digests.__getitem__, default=bytes(32))
        if len(common) != 32:
            text = (
                "most clients sent no digest of their model: use one release of tacet at the "
                "server and the clients"
            )
            raise UnavailableError(text)
        attempt = AttemptId(self.round, self.attempt, model_digest=common)
        aggregator = Aggregator(self.terms.agreement, attempt)
        for client, fields in fitting.items():
            if fields["model"] != common:
                refused[client] = "its model is not that of most members"
                continue
            try:
                aggregator.submit(int(fields["member"]), bytes(fields["upload"]))
            except TacetError as error:
                refused[client] = str(error)
        needed = self.terms.agreement.min_participants
        if len(aggregator) < needed:
            reasons = "".join(f"; client {client}: {why}" for client, why in refused.items())
            text = (
                f"{len(aggregator)} uploads fit, {needed} are needed: bring more clients, or agree "
                f"on a smaller min_participants{reasons}"
            )
            raise UnavailableError(text)
        closed_round, roster = aggregator.close()
        return attempt, closed_round, roster, refused

    # --------------------
    # Outcomes

    def _store(self, outcome: bytes) -> None:
        """Store the outcome of the present round, which ends it."""
        if self._folder is not None:
            replace_file(self._outcome_path(self.round), outcome)
        self.outcomes.append(outcome)
        self.attempt = 0

    def _seats(self, clients: Iterable[Any]) -> int:
        """Return how many of these clients have a seat."""
        return sum(self._members.get(client) in self._committee for client in clients)

    @property
    def _seats_that_applied(self) -> int:
        """Number of seats that have applied the latest outcome."""
        return self._seats(c for c, rounds in self._applied.items() if rounds >= self.round)

    @property
    def _is_settled(self) -> bool:
        """Whether enough seats for a vote have applied the latest outcome."""
        return self.round == 0 or self._seats_that_applied >= self.terms.agreement.votes_needed

    def _unsettled(self) -> str:
        return (
            f"{self._seats_that_applied} committee members have applied the outcome of round "
            f"{self.round - 1}, {self.terms.agreement.votes_needed} are needed: {_SEATS}. The "
            "server's next round sends it again"
        )

    def _deliver(self, send: Send, clients: Iterable[Any]) -> None:
        """Send clients the outcomes that they lack.

        Raises:
            UnavailableError: the committee refused the latest, which is given up.
        """
        behind = [client for client in clients if self._applied.get(client, -1) < self.round]
        answers = self._ask(send, {client: self.request(client, APPLY) for client in behind}, APPLY)
        # These were not known to lack more than the latest.
        far = [client for client, fields in answers.items() if fields["round"] < self.round - 1]
        answers |= self._ask(send, {client: self.request(client, APPLY) for client in far}, APPLY)
        start = Outcome.from_bytes(self.outcomes[-1]).attempt
        refused = [
            client
            for client, fields in answers.items()
            if fields["round"] == start.round and fields["model"] == start.model_digest
        ]
        self.failures += [
            f"client {client} refused the outcome of round {start.round}: the reason is in its log"
            for client in refused
        ]
        # Decryption is the same at all sites. More seats than may be corrupt include an honest one,
        # hence no honest site has applied the outcome.
        agreement = self.terms.agreement
        corrupt: Any = agreement.federation["corrupt_seats"]
        seats = self._seats(refused)
        if seats > max(corrupt, len(self._committee) - agreement.votes_needed):
            self._give_up(start.attempt)
            text = (
                f"{seats} committee members refused the outcome of round {start.round}: read the "
                "reasons in the logs of these clients"
            )
            raise UnavailableError(text)

    def _give_up(self, attempt: int) -> None:
        """Remove the latest outcome, and go back to the attempt that made it."""
        if self._folder is not None:
            self._attempt_path().unlink(missing_ok=True)
            self._outcome_path(self.round - 1).unlink()
        self.outcomes.pop()
        self.attempt = attempt
