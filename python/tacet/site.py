"""Client of a federation inside another framework: its folder, its keys and its answers.

The framework's server relays messages. A `Site` holds one member's keys and model: it seals
updates, takes its committee seat, decrypts each round's sum and applies it. `tacet.flower` and
`tacet.nvflare` hand the server's requests to it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .arguments import whole_number_of
from .durable_file import replace_file
from .errors import (
    AlreadyExistsError,
    BudgetError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from .key_files import (
    make_key_file,
    read_epoch_key,
    read_member_key,
    write_epoch_key,
    write_member_key,
)
from .outcome import Outcome
from .secagg import AttemptId, Client, CommitteeSeat, FileJournal, MemberKey
from .terms import Terms, check_finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .key_files import StrPath
    from .secagg import EpochKey, MemberPublicKey

__all__ = ["Sealed", "Site", "enrol"]

_KEY, _EPOCH_KEY, _TERMS, _STATE = "member.key", "epoch.key", "terms.json", "state.json"
_UPLOAD, _CLOSED, _ROSTER = "upload", "closed-round", "roster"


_NEW_FOLDER = "Enrol this site again in a new folder: a backup would forget what was charged"


def _model_name(rounds: int) -> str:
    return f"model-{rounds}.f32"


@dataclass
class _State:
    """Durable state of a site: written before anything leaves it."""

    member: int
    publish_evaluation: bool
    round: int = 0  # outcomes that were applied
    attempt: int = -1  # the latest of this round that was charged
    charged: int = 0  # attempts that were charged, in all rounds
    nonce: str = ""  # of this attempt's upload


@dataclass(frozen=True)
class Sealed:
    """An upload for the server; ``finite`` is for the site's own log.

    Attributes:
        upload: sealed bytes.
        finite: False when the update had a NaN or an infinity, and zeros were sealed in its place.
    """

    upload: bytes
    finite: bool = True


class Site:
    """One member: opens a folder of `create` and `join`.

    Every method holds the folder's lock, so threads and processes take turns, also a process that
    was forked while the site was open.

    Attributes:
        terms: the agreed `Terms`.
        member: this member's number.
        publish_evaluation: whether loss and metrics of this site's data go to the server. They
            are outside of epsilon.
    """

    def __init__(self, folder: StrPath, *, key_file: StrPath) -> None:
        self._folder = Path(folder)
        if not (self._folder / _STATE).exists():
            text = f"{folder} is not the folder of a site that has joined: run Site.join"
            raise NotFoundError(text)
        self.terms = Terms.load(self._folder / _TERMS)
        state = self._load()
        self.member = state.member
        self.publish_evaluation = state.publish_evaluation
        self._client = Client(
            self.terms.agreement,
            self.member,
            read_member_key(self._folder / _KEY, key_file=key_file),
            read_epoch_key(self._folder / _EPOCH_KEY, key_file=key_file),
        )
        self._journal = FileJournal(self._folder / "journal")

    def __reduce__(self) -> NoReturn:
        text = (
            "a Site is not pickled or copied, since it holds secret keys: open its folder in the "
            "other process"
        )
        raise TypeError(text)

    @staticmethod
    def create(folder: StrPath, *, key_file: StrPath) -> MemberPublicKey:
        """Make a folder with a new member's keys, encrypted under ``key_file``.

        Args:
            folder: the site's folder; never restore it from a backup.
            key_file: made when there is none. Keep it elsewhere: it unlocks the folder.

        Returns:
            The public key, which goes into the terms.

        Raises:
            AlreadyExistsError: the folder has keys.
        """
        home = Path(folder)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(AlreadyExistsError):
            make_key_file(key_file)
        key = MemberKey.generate()
        write_member_key(home / _KEY, key, key_file=key_file)
        return key.public_key

    @classmethod
    def join(
        cls,
        folder: StrPath,
        terms: StrPath,
        *,
        digest: str,
        epoch_key: EpochKey,
        initial: Sequence[NDArray[Any]],
        key_file: StrPath,
        publish_evaluation: bool = False,
    ) -> Site:
        """Accept terms for good: later terms, keys and members need a new folder.

        Args:
            folder: a folder of `create`.
            terms: the file of terms.
            digest: `Terms.digest`, heard from the other members through a channel that the server
                does not control. It replaces a signature.
            epoch_key: the members' common key, with which the terms were made.
            initial: tensors of the model with which training begins.
            key_file: that of `create`.
            publish_evaluation: let the server have loss and metrics of this site's data.

        Raises:
            InvalidArgumentError: other terms, another initial model or one that is not finite, or a
                member that is not named.
            AlreadyExistsError: the site has joined already.
        """
        home = Path(folder)
        if (home / _STATE).exists():
            text = f"{folder} has joined already: a new federation needs a new folder"
            raise AlreadyExistsError(text)
        agreed = Terms.load(terms)
        if agreed.digest != digest.strip().lower():
            text = (
                f"{terms} has the digest {agreed.digest}, the members agreed on {digest}: get the "
                "file on which they agreed"
            )
            raise InvalidArgumentError(text)
        vector = agreed.vector_of(initial)
        check_finite(initial, vector)
        if epoch_key.initial_model_digest(vector) != agreed.initial_digest:
            text = (
                "the initial model, or the epoch key, is not the one of the terms: give the "
                "tensors and the key with which the terms were made"
            )
            raise InvalidArgumentError(text)
        key = read_member_key(home / _KEY, key_file=key_file)
        if key.public_key not in agreed.members:
            text = (
                f"the terms do not name the keys of {folder}: make terms with the public key that "
                "Site.create returned, or give the folder of a member"
            )
            raise InvalidArgumentError(text)
        replace_file(home / _TERMS, Path(terms).read_bytes())
        replace_file(home / _model_name(0), vector.astype("<f4").tobytes())
        (home / _EPOCH_KEY).unlink(missing_ok=True)
        write_epoch_key(home / _EPOCH_KEY, epoch_key, key_file=key_file)
        state = _State(agreed.members.index(key.public_key), publish_evaluation)
        replace_file(home / _STATE, json.dumps(asdict(state)).encode())
        return cls(folder, key_file=key_file)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[_State]:
        """Hold the folder's lock; yields the state."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = os.getpid()
            try:
                yield self._load()
            finally:
                # A process that was forked meanwhile has the same open file: it would keep the lock
                # after the file is closed here, and must not give it up there.
                if os.getpid() == process:
                    fcntl.flock(lock, fcntl.LOCK_UN)

    def _load(self) -> _State:
        try:
            return _State(**json.loads((self._folder / _STATE).read_bytes()))
        except (ValueError, TypeError) as error:
            text = f"{self._folder / _STATE} is damaged: {error}. {_NEW_FOLDER}"
            raise DataLossError(text) from None

    def _save(self, state: _State) -> None:
        replace_file(self._folder / _STATE, json.dumps(asdict(state)).encode())

    def _model(self, state: _State) -> NDArray[np.float32]:
        path = self._folder / _model_name(state.round)
        content = path.read_bytes()
        if len(content) != 4 * self.terms.dimension:
            text = f"{path} has {len(content)} bytes: it is damaged. {_NEW_FOLDER}"
            raise DataLossError(text)
        return np.frombuffer(content, dtype="<f4").astype(np.float32)

    @property
    def model(self) -> list[NDArray[np.float32]]:
        """Tensors of the present model: the initial one plus the sums of all rounds so far."""
        with self._locked() as state:
            return self.terms.tensors_of(self._model(state))

    @property
    def round(self) -> int:
        """Rounds whose sum was applied."""
        with self._locked() as state:
            return state.round

    @property
    def charged_attempts(self) -> int:
        """Attempts in which something of this site was sealed."""
        with self._locked() as state:
            return state.charged

    @property
    def epsilon(self) -> float:
        """Epsilon for all attempts that the terms permit, also of a training that ends early."""
        agreement = self.terms.agreement
        return float(agreement.guarantee_after(agreement.attempt_budget).epsilon)

    @property
    def charged_epsilon(self) -> float:
        """Epsilon after the attempts that were charged so far; 0 before the first.

        A forecast: it would hold for a training that was fixed beforehand to end with them.
        """
        charged = self.charged_attempts
        if charged == 0:
            return 0.0
        return float(self.terms.agreement.guarantee_after(charged).epsilon)

    @property
    def model_digest(self) -> bytes:
        """`Client.model_digest` of the present model: the server cannot confirm guesses of it."""
        with self._locked() as state:
            return self._client.model_digest(self._model(state))

    def apply(self, outcomes: Sequence[bytes]) -> int:
        """Decrypt the outcomes that follow this site's rounds, and apply each to the model.

        Returns:
            Rounds that are applied now.

        Raises:
            TacetError: an outcome is damaged, manipulated or of another model; it changes nothing.
        """
        with self._locked() as state:
            for content in outcomes:
                outcome = Outcome.from_bytes(content)
                if outcome.attempt.round < state.round:
                    continue
                if outcome.attempt.round > state.round:
                    text = (
                        f"an outcome of round {outcome.attempt.round}, after {state.round} rounds: "
                        "give the outcomes of all rounds between, in their order"
                    )
                    raise FailedPreconditionError(text)
                model = self._model(state)
                if outcome.attempt.model_digest != self._client.model_digest(model):
                    text = (
                        f"the outcome of round {state.round} began with another model: this site's "
                        "folder, or that of most members, was changed. Enrol it again in a new one"
                    )
                    raise DataLossError(text)
                aggregate = self._client.decrypt(
                    outcome.attempt, outcome.closed_round, outcome.votes, outcome.shares
                )
                step = self.terms.server_learning_rate * aggregate.average
                new = (model.astype(np.float64) + step).astype("<f4")
                # The state names the model that counts, so a crash between two lines loses nothing.
                replace_file(self._folder / _model_name(state.round + 1), new.tobytes())
                state.round += 1
                state.attempt, state.nonce = -1, ""
                self._save(state)
                (self._folder / _model_name(state.round - 1)).unlink()
            return state.round

    def upload_of(self, attempt: int) -> bytes | None:
        """Return the upload that was sealed in this attempt of the present round, or None."""
        with self._locked() as state:
            if state.nonce and state.attempt == attempt:
                return (self._folder / _UPLOAD).read_bytes()
            return None

    def check_attempt(self, attempt: int) -> None:
        """Raise unless this attempt of the present round may be charged.

        Raises:
            BudgetError: all rounds are done, or all attempts are spent.
            FailedPreconditionError: the attempt, or a later one, was charged already.
            TypeError: it is not a whole number of 0 or more.
        """
        with self._locked() as state:
            self._check_attempt(state, attempt)

    def _check_attempt(self, state: _State, attempt: int) -> int:
        attempt = whole_number_of("attempt", attempt)
        if state.round >= self.terms.rounds:
            text = f"all {self.terms.rounds} agreed rounds are done: agree on new terms for more"
            raise BudgetError(text)
        if state.charged >= self.terms.agreement.attempt_budget:
            text = f"all {state.charged} agreed attempts are spent: agree on new terms for more"
            raise BudgetError(text)
        if attempt > self.terms.spare_attempts:
            text = (
                f"no attempt {attempt} of a round was agreed: there are "
                f"{self.terms.spare_attempts} spare ones. Agree on new terms for more"
            )
            raise BudgetError(text)
        if attempt <= state.attempt:
            text = (
                f"attempt {attempt} of round {state.round} or a later one was charged already, "
                "and one attempt is sealed once: ask for the next attempt"
            )
            raise FailedPreconditionError(text)
        return attempt

    def seal(self, attempt: int, base: bytes, trained: Sequence[NDArray[Any]]) -> Sealed:
        """Charge the attempt, and seal the difference between ``trained`` and the model.

        Args:
            attempt: number of the attempt at the present round.
            base: digest of the model from which the training began.
            trained: tensors after training: floating-point, of the agreed shapes, not masked. A
                NaN or an infinity is sealed as zeros (`Sealed.finite`).

        Raises:
            InvalidArgumentError: the tensors cannot be federated; nothing was charged.
            BudgetError, FailedPreconditionError, TypeError: as `check_attempt`.
        """
        with self._locked() as state:
            attempt = self._check_attempt(state, attempt)
            model = self._model(state)
            digest = self._client.model_digest(model)
            if digest != base:
                text = "the model has changed since the training began: train from Site.model again"
                raise FailedPreconditionError(text)
            update = self.terms.vector_of(trained) - model
            state.attempt, state.nonce = attempt, ""
            state.charged += 1
            self._save(state)
            sealed = self._client.seal(AttemptId(state.round, attempt, model_digest=digest), update)
            replace_file(self._folder / _UPLOAD, sealed.upload)
            state.nonce = sealed.nonce.hex()
            self._save(state)
            return Sealed(sealed.upload, sealed.finite)

    def _seat(self, state: _State, attempt: int, *, acknowledged: bool) -> CommitteeSeat:
        nonce = bytes.fromhex(state.nonce) if state.attempt == attempt else b""
        return self._client.seat(
            AttemptId(
                state.round, attempt, model_digest=self._client.model_digest(self._model(state))
            ),
            nonce=nonce or None,
            acknowledged=acknowledged and bool(nonce),
            journal=self._journal,
        )

    def vote(
        self, attempt: int, closed_round: bytes, roster: bytes, *, acknowledged: bool
    ) -> bytes:
        """Return this seat's vote for a closed round of the present round.

        Args:
            attempt: number of the attempt.
            closed_round: the server's sum.
            roster: its participants.
            acknowledged: whether the server has said that this site's upload is in the sum; a sum
                without it is refused then.

        Raises:
            TacetError: a check failed, or the seat has voted for another sum.
        """
        with self._locked() as state:
            seat = self._seat(state, attempt, acknowledged=acknowledged)
            vote = seat.vote(closed_round, roster)
            replace_file(self._folder / _CLOSED, closed_round)
            replace_file(self._folder / _ROSTER, roster)
            return vote

    def unmask(self, attempt: int, votes: Sequence[bytes]) -> bytes:
        """Return this seat's unmask share of the sum that it voted for.

        Raises:
            TacetError: too few votes, or this seat has not voted.
        """
        with self._locked() as state:
            seat = self._seat(state, attempt, acknowledged=False)
            try:
                closed_round = (self._folder / _CLOSED).read_bytes()
                roster = (self._folder / _ROSTER).read_bytes()
            except FileNotFoundError:
                text = "this seat has not voted: call vote with the closed round first"
                raise FailedPreconditionError(text) from None
            seat.vote(closed_round, roster)
            return seat.unmask(list(votes))


def enrol(
    folder: StrPath,
    initial: Sequence[NDArray[Any]],
    *,
    sites: int,
    publish_evaluation: bool = False,
    **terms: Any,
) -> Terms:
    """Enrol all sites in one process, for a simulation: it holds every member's keys.

    Makes ``folder/terms.json``, ``folder/unlock.key`` and the folders ``folder/site-0`` and so on.

    Args:
        folder: a new folder.
        initial: tensors of the initial model.
        sites: number of members.
        publish_evaluation: as `Site.join`.
        **terms: arguments of `Terms.for_model`.
    """
    from .secagg import EpochKey  # noqa: PLC0415

    home = Path(folder)
    home.mkdir(mode=0o700, parents=True)
    key_file = home / "unlock.key"
    keys = [Site.create(home / f"site-{i}", key_file=key_file) for i in range(sites)]
    epoch_key = EpochKey.generate()
    agreed = Terms.for_model(initial, members=keys, epoch_key=epoch_key, **terms)
    agreed.save(home / _TERMS)
    for i in range(sites):
        Site.join(
            home / f"site-{i}",
            home / _TERMS,
            digest=agreed.digest,
            epoch_key=epoch_key,
            initial=initial,
            key_file=key_file,
            publish_evaluation=publish_evaluation,
        )
    return agreed
