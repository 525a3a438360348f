#!/usr/bin/env python3
"""Estimate of the cost to find a one-time key of scheme compact when the sum of h such keys is known.

Prints the table of docs/security/rlwe.md, which explains the model. Standard library only.

Instance: N samples a k + e mod Q (and more, as many as the attack wants), log2 Q = 99.9993, with what
is left of k and e once the sums over h contributors are known. All laws are computed exactly.

Attack: primal, by one unusually short vector (uSVP) in the embedding of Bai and Galbraith. BKZ with
block size b finds it when (Alkim, Ducas, Poeppelmann, Schwabe 2016)
    sigma sqrt(b) <= delta(b)^(2 b - d - 1) Vol^(1/d),   delta(b)^(2 (b - 1)) = b (pi b)^(1/b) / (2 pi e),
in dimension d, coordinates scaled to equal deviation sigma. Known coordinates leave the lattice.

Cost, as log2 of operations:
    classical   0.292 b + 16.4 + log2(8 d)   (Becker, Ducas, Gama, Laarhoven 2016; HE Standard 1.1)
    quantum     0.265 b + 16.4 + log2(8 d)   (HE Standard 1.1)
    gates       Albrecht, Gheorghiu, Postlethwaite, Schanck 2020 with the constants of MATZOV 2022,
                progressive sieving and dimensions for free, as in the lattice-estimator
"""

import math

RING_DEGREE = 4096
LOG2_MODULUS = 99.9993
GATES_SLOPE, GATES_START = 0.29613500308205365, 20.387885985467914


def centred_binomial(pairs):
    """The law of the set bits among 2 `pairs` fair bits, less `pairs`: {value: probability}."""
    return {k: math.comb(2 * pairs, k + pairs) / 4**pairs for k in range(-pairs, pairs + 1)}


TERNARY = {-1: 1 / 3, 0: 1 / 3, 1: 1 / 3}
ERROR = centred_binomial(21)


def sum_of(law, terms):
    total = {0: 1.0}
    for _ in range(terms):
        longer = {}
        for a, p in total.items():
            for b, q in law.items():
                longer[a + b] = longer.get(a + b, 0.0) + p * q
        total = longer
    return total


def given_sum(law, contributors):
    """The rest of one of `contributors` independent values once their sum is known.

    Returns the probability that nothing is left (the sum determines the value), and the mean of the
    logarithm of the deviation where something is.
    """
    others = sum_of(law, contributors - 1)
    determined, mean_log = 0.0, 0.0
    for total, probability in sum_of(law, contributors).items():
        weights = {v: p * others.get(total - v, 0.0) for v, p in law.items()}
        mean = sum(v * w for v, w in weights.items()) / probability
        variance = sum((v - mean) ** 2 * w for v, w in weights.items()) / probability
        if sum(w > 0 for w in weights.values()) == 1:
            determined += probability
        else:
            mean_log += probability * math.log(variance) / 2
    return determined, mean_log / (1 - determined)


def log_delta(block):
    return math.log(block / (2 * math.pi * math.e) * (math.pi * block) ** (1 / block)) / (
        2 * (block - 1))


def block_size(unknowns, log2_modulus, log_secret, log_error, samples=math.inf):
    """Smallest block size that finds the secret, and the smallest dimension for it.

    `log_secret`, `log_error`: mean logarithms of the deviations of the unknown coordinates.
    """
    log_q = log2_modulus * math.log(2)
    scaling = unknowns * (log_error - log_secret)

    def finds(block, dimension):
        volume = log_error + scaling + log_q * (dimension - unknowns - 1)
        return (log_error + math.log(block) / 2
                <= log_delta(block) * (2 * block - dimension - 1) + volume / dimension)

    for block in range(60, 2000):
        best = math.sqrt((unknowns * log_q - scaling) / log_delta(block))
        dimension = int(min(max(best, block + 1, unknowns + 2), samples + unknowns + 1))
        if finds(block, dimension):
            while dimension > max(block + 1, unknowns + 2) and finds(block, dimension - 1):
                dimension -= 1
            return block, dimension
    raise ValueError("no block size below 2000 is enough")


def gates(block, dimension):
    free = block * math.log(4 / 3) / math.log(block / (2 * math.pi * math.e))
    progressive = 1 / (1 - 2**-GATES_SLOPE)
    calls = progressive**2 * max(dimension - block, 1)
    return math.log2(calls) + GATES_SLOPE * (block - free) + GATES_START


def estimate(key_law, contributors):
    """A row of the table: a key with `key_law` and an error with its own, given sums of so many."""
    if contributors == math.inf:
        def left(law):
            return 0.0, math.log(sum(v * v * p for v, p in law.items())) / 2
    else:
        def left(law):
            return given_sum(law, contributors)
    determined, log_secret = left(key_law)
    _, log_error = left(ERROR)
    unknowns = round(RING_DEGREE * (1 - determined))
    block, dimension = block_size(unknowns, LOG2_MODULUS, log_secret, log_error)
    size = math.log2(8 * dimension) + 16.4
    return {"unknowns": unknowns, "secret": math.exp(log_secret), "error": math.exp(log_error),
            "block": block, "dimension": dimension, "classical": 0.292 * block + size,
            "quantum": 0.265 * block + size, "gates": gates(block, dimension)}


def table():
    lines = ["| key | h | unknown | deviation of key, error | b | d | classical | quantum | gates |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name, law in (("CBD(21)", ERROR), ("ternary", TERNARY)):
        for contributors in (2, 3, 8, math.inf):
            row = estimate(law, contributors)
            shown = "no sum" if contributors == math.inf else contributors
            lines.append(
                f"| {name} | {shown} | {row['unknowns']} | {row['secret']:.2f}, {row['error']:.2f} "
                f"| {row['block']} | {row['dimension']} | {row['classical']:.1f} "
                f"| {row['quantum']:.1f} | {row['gates']:.1f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
