"""tacet, by its Python package."""

import sys

import numpy as np
import tacet
from peer_measure import BOUND, SCALE, report, seconds, updates
from tacet import secagg

SEATS, CORRUPT = 5, 2
WAITING = 32  # uploads that a server adds at once


class Memory:
    """Journal of a committee seat, for as long as the measurement."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}

    def record(self, key: str, message: bytes) -> None:
        self.answers[key] = message

    def find(self, key: str) -> bytes | None:
        return self.answers.get(key)


def main(dimension: int, clients: int, held: int) -> None:
    keys = [secagg.MemberKey.generate() for _ in range(clients)]
    epoch_key = secagg.EpochKey.generate()
    own = updates(held, dimension)
    agreement = secagg.agree(
        members=[key.public_key for key in keys], dimension=dimension, rounds=1,
        clip_norm=0.4, coordinate_bound=BOUND, scale=SCALE, noise_multiplier=6,
        committee_seats=SEATS, corrupt_seats=CORRUPT)
    attempt = secagg.AttemptId(
        0, model_digest=secagg.model_digest(np.zeros(dimension, np.float32)))
    party = secagg.Client(agreement, 0, keys[0], epoch_key)
    protect_s, _ = seconds(lambda: party.seal(attempt, own[0]), 20)
    packets = [secagg.Client(agreement, member, key, epoch_key).key_packet
               for member, key in enumerate(keys)]
    server = secagg.Aggregator(agreement, attempt, packets)
    add_s, truth, nonces = 0.0, np.zeros(dimension), []
    waiting: list[tuple[int, bytes]] = []
    # Every upload is made and added, with those that wait; only adding is timed.
    for member, key in enumerate(keys):
        update = own[member % held]
        truth += update
        client = secagg.Client(agreement, member, key, epoch_key)
        sealed = client.seal(attempt, update)
        nonces.append(sealed.nonce)
        waiting.append((member, sealed.upload))
        if len(waiting) < WAITING and member + 1 < clients:
            continue
        own_s, refusals = seconds(lambda: server.submit_each(waiting))
        assert refusals == [None] * len(waiting), refusals
        add_s += own_s
        waiting.clear()
    close_s, (closed, roster) = seconds(server.close)
    add_s += close_s
    seats = [secagg.Client(agreement, i, keys[i], epoch_key)
             .seat(attempt, packets, nonce=nonces[i], acknowledged=True, journal=Memory())
             for i in agreement.committee]
    votes = [seat.vote(closed, roster) for seat in seats]
    shares = [seat.unmask(votes) for seat in seats]
    decrypt_s, aggregate = seconds(lambda: party.decrypt(attempt, closed, votes, shares), 2)
    # Noise is inside; a value is wrong where it is beyond ten deviations of the planned noise.
    error = np.abs(np.asarray(aggregate.average, float) * clients - truth)
    wrong = int((error > 10 * agreement.sum_stddev(clients)).sum())
    guarantee = tacet.guarantee(clients=3596, cohort=1000, rounds=100, noise_multiplier=6,
                                delta=1e-5, sampling="fixed-size")
    external = [row.epsilon for row in guarantee.rows
                if row.observer == "external" and row.accountant == "fixed-size-tight"]
    report({
        "name": "tacet", "version": tacet.__version__,
        "protect_s": protect_s, "add_s": add_s, "decrypt_s": decrypt_s,
        "upload_bytes": len(sealed.upload), "download_bytes": len(closed),
        "wrong_values": wrong, "largest_error": None, "measured_clients": clients,
        "measured_values": dimension,
        "reads_update": f"more than {CORRUPT} of {SEATS} committee seats with the server",
        "drop_outs": f"any client; {SEATS - agreement.votes_needed} of {SEATS} seats",
        "noise_inside": "yes, shares of all clients",
        "epsilon": external[0], "epsilon_is": "a bound (tight)",
        "memory_mb": None,
        "reasons": {"memory_mb": "all clients were in one process"},
    })


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:4]))
