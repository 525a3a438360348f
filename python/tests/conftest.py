from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from tacet import secagg

DIMENSION = 100


@dataclass
class Round:
    """A federation of three clients in one process, with the keys of all of them."""

    dimension: int = DIMENSION
    members: int = 3
    noise_multiplier: float = 4.0
    rounds: int = 3
    spare_attempts: int = 10
    keys: list[secagg.MemberKey] = field(default_factory=list)
    sealed: list[secagg.SealedUpdate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.keys = [secagg.MemberKey.generate() for _ in range(self.members)]
        self.epoch_key = secagg.EpochKey.generate()
        self.agreement = secagg.agree(
            members=[key.public_key for key in self.keys],
            dimension=self.dimension,
            rounds=self.rounds,
            spare_attempts=self.spare_attempts,
            noise_multiplier=self.noise_multiplier,
            min_participants=self.members,
            scale=1e-3,
        )
        self.attempt = secagg.AttemptId(0)
        self.clients = [
            secagg.Client(self.agreement, number, key, self.epoch_key)
            for number, key in enumerate(self.keys)
        ]
        self.packets = [client.key_packet for client in self.clients]
        self.server = secagg.Aggregator(self.agreement, self.attempt, self.packets)

    def seal_all(self, updates: list[NDArray[np.float32]]) -> None:
        for number, update in enumerate(updates):
            self.sealed.append(self.clients[number].seal(self.attempt, update))
            self.server.submit(number, self.sealed[-1].upload)

    def seat(self, number: int, journal: object = None) -> secagg.CommitteeSeat:
        return self.clients[number].seat(
            self.attempt,
            self.packets,
            nonce=self.sealed[number].nonce,
            acknowledged=True,
            journal=journal,
        )

    def decrypt(self) -> secagg.Aggregate:
        closed_round, roster = self.server.close()
        seats = [self.seat(number) for number in self.agreement.committee]
        votes = [seat.vote(closed_round, roster) for seat in seats]
        shares = [seat.unmask(votes) for seat in seats]
        return self.clients[0].decrypt(self.attempt, closed_round, votes, shares)


@pytest.fixture(scope="session", autouse=True)
def runtime_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Committee seats keep their anchors there: a machine without one loses an attempt."""
    os.environ["XDG_RUNTIME_DIR"] = str(tmp_path_factory.mktemp("runtime"))


@pytest.fixture
def whole_round() -> Round:
    return Round()
