from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import DIMENSION, Round

import tacet
from tacet import secagg


def constant(value: float, dimension: int = DIMENSION) -> np.ndarray:
    return np.full(dimension, value, dtype=np.float32)


def test_clients_decrypt_the_sum_of_their_updates() -> None:
    # Updates of norm 1 in one direction. Seven deviations are passed once in 4e11 runs.
    federation = Round(members=20, noise_multiplier=1.0, rounds=1, spare_attempts=0)
    federation.seal_all([constant(0.1)] * 20)
    assert len(federation.server) == 20
    aggregate = federation.decrypt()
    assert aggregate.participants == 20
    assert aggregate.wrong_seats == []
    assert aggregate.sum.dtype == np.float64
    assert aggregate.sum.shape == (DIMENSION,)
    np.testing.assert_allclose(aggregate.average * 20, aggregate.sum)
    assert abs(0.1 * aggregate.sum.sum() - 20) < 7 * federation.agreement.sum_stddev(20)


def test_an_array_that_changes_during_the_seal_is_clipped() -> None:
    """Another thread alternates the update between zeros and a thousand times the clip norm.

    A seal that reads the array twice finds a norm of 0, and then seals the long vector.
    """
    dimension, seals = 200_000, 80
    federation = Round(dimension=dimension, members=2, noise_multiplier=4.0)
    update = constant(0.0, dimension)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            update.fill(1.0)
            update.fill(0.0)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for attempt in range(seals):
            trial = secagg.AttemptId(0, attempt % 10)
            packets = federation.packets
            server = secagg.Aggregator(federation.agreement, trial, packets)
            sealed = [
                federation.clients[0].seal(trial, update),
                federation.clients[1].seal(trial, constant(0.0, dimension)),
            ]
            for number in range(2):
                server.submit(number, sealed[number].upload)
            closed_round, roster = server.close()
            seats = [
                federation.clients[number].seat(
                    trial, packets, nonce=sealed[number].nonce, acknowledged=True
                )
                for number in federation.agreement.committee
            ]
            votes = [seat.vote(closed_round, roster) for seat in seats]
            shares = [seat.unmask(votes) for seat in seats]
            aggregate = federation.clients[1].decrypt(trial, closed_round, votes, shares)
            # Length along the long vector: at most 1, and noise of deviation about 4.
            length = aggregate.sum.sum() / np.sqrt(dimension)
            assert abs(length) < 1 + 8 * federation.agreement.sum_stddev(2)
    finally:
        stop.set()
        thread.join()


def test_arrays_of_other_kinds(whole_round: Round) -> None:
    client, attempt = whole_round.clients[0], whole_round.attempt
    wide = np.full(2 * DIMENSION, 0.5, dtype=np.float32)
    wide[::2] = 0.1
    wide.setflags(write=False)
    assert client.seal(attempt, wide[::2]).norm == pytest.approx(1.0)
    assert client.seal(attempt, wide[::-2]).norm == pytest.approx(5.0)
    assert client.seal(attempt, np.full(DIMENSION, 0.1)).norm == pytest.approx(1.0)
    assert client.seal(attempt, constant(np.nan)).finite is False


@pytest.mark.parametrize(
    ("update", "kind", "text"),
    [
        (np.ones(DIMENSION, dtype=np.int64), TypeError, "not float32"),
        (np.ones(DIMENSION, dtype=np.float16), TypeError, "not float32"),
        (np.ones(DIMENSION, dtype=bool), TypeError, "not float32"),
        (np.ones(DIMENSION, dtype=np.complex64), TypeError, "not float32"),
        (np.ones((DIMENSION, 1), dtype=np.float32), ValueError, "2 dimensions"),
        (np.float32(1), ValueError, "0 dimensions"),
        ([0.0] * DIMENSION, TypeError, "got list"),
        (None, TypeError, "got NoneType"),
        (np.ones(DIMENSION - 1, dtype=np.float32), ValueError, "99"),
        (np.ones(0, dtype=np.float32), ValueError, "0"),
        (np.array(["a"] * DIMENSION), TypeError, "wanted a one-dimensional"),
    ],
)
def test_an_update_that_is_not_one_is_refused(
    whole_round: Round, update: object, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        whole_round.clients[0].seal(whole_round.attempt, update)


def test_secrets_are_not_pickled_copied_or_shown(whole_round: Round) -> None:
    whole_round.seal_all([constant(0.1)] * 3)
    for secret in (
        whole_round.keys[0],
        whole_round.epoch_key,
        whole_round.sealed[0],
        whole_round.clients[0],
        whole_round.seat(0),
    ):
        for use in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="pickle"):
                use(secret)
    key = whole_round.keys[0]
    assert bytes(key.expose_secret()).hex() not in repr(key)
    assert repr(whole_round.sealed[0].norm) not in repr(whole_round.sealed[0])


def test_public_keys_are_values(whole_round: Round) -> None:
    public = whole_round.keys[0].public_key
    assert pickle.loads(pickle.dumps(public)) == public
    assert len({public, copy.copy(public), whole_round.keys[1].public_key}) == 2
    assert public != 3
    with pytest.raises(ValueError, match="signing has 31 bytes: wanted 32"):
        secagg.MemberPublicKey(bytes(31), bytes(32), bytes(1184))


def test_a_key_returns_from_its_secret() -> None:
    key = secagg.MemberKey.generate()
    secret = key.expose_secret()
    assert isinstance(secret, bytearray)
    assert secagg.MemberKey.from_secret(secret).public_key == key.public_key
    assert secagg.MemberKey.from_secret(bytes(secret)).public_key == key.public_key
    with pytest.raises(tacet.InvalidArgumentError):
        secagg.EpochKey.from_secret(bytes(31))
    with pytest.raises(TypeError):
        secagg.EpochKey.from_secret("secret")  # type: ignore[arg-type]


def test_a_server_finds_out_whose_key_packet_is_unusable(whole_round: Round) -> None:
    packet = whole_round.clients[2].key_packet
    whole_round.agreement.check_key_packet(2, packet)
    with pytest.raises(tacet.DataLossError, match="have the member send"):
        whole_round.agreement.check_key_packet(2, packet[:-1])
    with pytest.raises(tacet.PermissionDeniedError):
        whole_round.agreement.check_key_packet(1, packet)
    with pytest.raises(tacet.InvalidArgumentError):
        whole_round.agreement.check_key_packet(3, packet)


def test_messages_that_are_damaged_or_of_others_are_refused(whole_round: Round) -> None:
    whole_round.seal_all([constant(0.1)] * 2)
    upload = whole_round.clients[2].seal(whole_round.attempt, constant(0.1)).upload
    with pytest.raises(tacet.DataLossError):
        whole_round.server.submit(2, upload[:-1])
    with pytest.raises(tacet.InvalidArgumentError):
        whole_round.server.submit(3, upload)
    with pytest.raises(tacet.AlreadyExistsError):
        whole_round.server.submit(0, upload)
    with pytest.raises(tacet.FailedPreconditionError, match="2"):
        whole_round.server.close()
    assert whole_round.server.submit_each([(2, upload), (0, upload)])[0] is None
    closed_round, roster = whole_round.server.close()
    with pytest.raises(tacet.FailedPreconditionError):
        whole_round.server.close()
    seat = whole_round.seat(0)
    with pytest.raises(tacet.FailedPreconditionError):
        seat.unmask([])
    with pytest.raises(tacet.DataLossError):
        seat.vote(closed_round[:-1], roster)
    vote = seat.vote(closed_round, roster)
    with pytest.raises(tacet.UnavailableError):
        seat.unmask([vote])
    with pytest.raises(tacet.UnavailableError):
        whole_round.clients[0].decrypt(whole_round.attempt, closed_round, [vote], [])
    with pytest.raises(tacet.InvalidArgumentError):
        whole_round.clients[0].seal(secagg.AttemptId(3), constant(0.1))


def test_wrong_agreements_are_refused(whole_round: Round) -> None:
    members = [key.public_key for key in whole_round.keys]
    with pytest.raises(tacet.InvalidArgumentError):
        secagg.agree(members=members, dimension=0, noise_multiplier=4)
    with pytest.raises(tacet.InvalidArgumentError):
        secagg.agree(members=members[:1], dimension=9, noise_multiplier=4)
    with pytest.raises(TypeError, match="no option 'noise'"):
        secagg.agree(members=members, dimension=9, noise=4)  # type: ignore[call-arg]
    with pytest.raises(tacet.InvalidArgumentError):
        secagg.Client(whole_round.agreement, 1, whole_round.keys[0], whole_round.epoch_key)


class SlowJournal:
    """A journal that lets every other thread run while it stores."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}

    def record(self, key: str, message: bytes) -> None:
        threading.Event().wait(0.01)
        self.answers[key] = message

    def find(self, key: str) -> bytes | None:
        threading.Event().wait(0.01)
        return self.answers.get(key)


def test_a_seat_that_two_threads_use_neither_waits_for_ever_nor_answers_twice(
    whole_round: Round,
) -> None:
    whole_round.seal_all([constant(0.1)] * 3)
    closed_round, roster = whole_round.server.close()
    journal = SlowJournal()
    seat = whole_round.seat(0, journal)
    votes: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: votes.append(seat.vote(closed_round, roster)), daemon=True)
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(votes) == 4
    assert len(set(votes)) == 1
    assert len(journal.answers) == 2  # lists of key packets, and the vote


def test_a_journal_that_calls_its_seat_is_an_error(whole_round: Round) -> None:
    whole_round.seal_all([constant(0.1)] * 3)
    closed_round, roster = whole_round.server.close()
    found: list[BaseException] = []

    class Calling(SlowJournal):
        def record(self, key: str, message: bytes) -> None:
            try:
                seat.vote(closed_round, roster)
            except tacet.FailedPreconditionError as error:
                found.append(error)
                raise

    seat = whole_round.seat(0, Calling())
    with pytest.raises(tacet.FailedPreconditionError, match="its own journal"):
        seat.vote(closed_round, roster)
    assert found


def test_what_a_journal_raises_arrives_and_nothing_is_answered(whole_round: Round) -> None:
    whole_round.seal_all([constant(0.1)] * 3)
    closed_round, roster = whole_round.server.close()

    class Full(SlowJournal):
        full = True

        def record(self, key: str, message: bytes) -> None:
            if self.full:
                text = "no space left"
                raise OSError(text)
            super().record(key, message)

    journal = Full()
    seat = whole_round.seat(0, journal)
    with pytest.raises(OSError, match="no space left"):
        seat.vote(closed_round, roster)
    journal.full = False
    assert seat.vote(closed_round, roster)
    with pytest.raises(TypeError, match="record"):
        whole_round.seat(0, object())

    class Wrong(SlowJournal):
        def find(self, key: str) -> bytes | None:
            return "text"  # type: ignore[return-value]

    with pytest.raises(TypeError, match="neither bytes nor None"):
        whole_round.seat(0, Wrong()).vote(closed_round, roster)


def test_a_seat_that_returns_repeats_its_answer(whole_round: Round, tmp_path: Path) -> None:
    whole_round.seal_all([constant(0.1)] * 3)
    closed_round, roster = whole_round.server.close()
    first = whole_round.seat(0, secagg.FileJournal(tmp_path)).vote(closed_round, roster)
    again = whole_round.seat(0, secagg.FileJournal(tmp_path)).vote(closed_round, roster)
    assert first == again
    with pytest.raises(FileExistsError):
        secagg.FileJournal(tmp_path).record(next(tmp_path.iterdir()).name, b"other")
    assert len(list(tmp_path.iterdir())) == 2  # lists of key packets, and the vote


EXIT_DURING_CALLS = """
import threading
import numpy as np
from conftest import Round, DIMENSION
import tacet

federation = Round()
federation.seal_all([np.zeros(DIMENSION, dtype=np.float32)] * 3)
closed_round, roster = federation.server.close()

class Journal:
    def record(self, key, message): pass
    def find(self, key): return None

def work(number):
    update = np.zeros(DIMENSION, dtype=np.float32)
    while True:
        federation.clients[number].seal(federation.attempt, update)
        federation.seat(number, Journal()).vote(closed_round, roster)

for number in range(3):
    threading.Thread(target=work, args=(number,), daemon=True).start()
threading.Thread(
    target=lambda: tacet.guarantee(clients=3596, cohort=1000, rounds=100, noise_multiplier=6),
    daemon=True).start()
threading.Event().wait(0.05)
"""


def test_the_interpreter_exits_while_threads_are_in_calls() -> None:
    for _ in range(10):
        done = subprocess.run(
            [sys.executable, "-c", EXIT_DURING_CALLS],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
