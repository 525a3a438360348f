"""Canary audit of unit person with a user's own PyTorch loop, for Debian's Python.

A patient is planted whose rows all pull the model in one direction, as hard as they can. Many
rounds of the mechanism are seen with and without its bag of rows. Error rates of attacks that
guess whether it took part give a lower bound of epsilon (Clopper, Pearson 1934), which must not
pass the claimed one. A wrong loop that clips each row must be caught.
"""

from __future__ import annotations

import math
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

import tacet
import tacet.torch

LOSS = torch.nn.CrossEntropyLoss()
BAGS = (1, 2, 20, 200)
PERSONS = 210  # at the canary's site; the other site has two
TRIALS = 400
NOISE = 3.0
# An honest mechanism passes the claimed epsilon once in 1e9 audits or less: 8 audits in this file,
# each with 3 thresholds, 2 directions and 2 rates.
MISTAKE = 1e-9 / (8 * 3 * 2 * 2)


def log_tail(successes: int, trials: int, rate: float) -> float:
    """Logarithm of the probability of at least so many successes."""
    terms = [
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(rate) + (trials - k) * math.log1p(-rate)
        for k in range(successes, trials + 1)
    ]  # fmt: skip
    most = max(terms)
    return most + math.log(sum(math.exp(term - most) for term in terms))


def rate_at_least(successes: int, trials: int) -> float:
    """Limit below the rate of success, wrong with probability MISTAKE."""
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(50):
        middle = (low + high) / 2
        if log_tail(successes, trials, middle) < math.log(MISTAKE):
            low = middle
        else:
            high = middle
    return low


def epsilon_at_least(present: np.ndarray, absent: np.ndarray, delta: float) -> float:
    """Largest epsilon that the error rates of the attacks prove.

    Scores are lengths along the canary's direction less the others' part, in units of the clip
    norm. Thresholds are fixed beforehand: the noise is public.
    """
    best = 0.0
    for threshold in (0.5, 0.5 + NOISE, 0.5 + 2 * NOISE):
        for positive, negative in ((present, absent), (1 - absent, 1 - present)):
            hit = rate_at_least(int((positive > threshold).sum()), len(positive))
            passed = rate_at_least(int((negative <= threshold).sum()), len(negative))
            if hit > delta:
                best = max(best, math.log((hit - delta) / (1 - passed)))
    return best


class CanaryTest(unittest.TestCase):
    def setUp(self) -> None:
        generator = torch.Generator().manual_seed(1)
        self.net = torch.nn.Sequential(torch.nn.Linear(5, 2))
        self.model = np.zeros(12, dtype=np.float32)
        self.inputs = 0.1 * torch.randn(PERSONS - 1, 5, generator=generator)
        self.inputs[:, 0] = 0  # the canary alone has the first feature
        self.targets = torch.randint(0, 2, (PERSONS - 1,), generator=generator)
        self.direction = np.zeros(12)
        self.direction[[0, 5]] = (-1 / np.sqrt(2), 1 / np.sqrt(2))  # its weights, to label 1

    def sum_of_site(self, bag: int, clip_norm: float, *, clip_each_row: bool) -> np.ndarray:
        """Sum of the site's persons, the canary being the last one, with `bag` rows."""
        canary = torch.zeros(bag, 5)
        canary[:, 0] = 1e3
        groups = [*range(PERSONS - 1), *[PERSONS - 1] * bag]
        return tacet.torch.clipped_sum(
            self.net, self.model, torch.cat([self.inputs, canary]),
            torch.cat([self.targets, torch.ones(bag, dtype=torch.int64)]),
            loss=LOSS, clip_norm=clip_norm, groups=None if clip_each_row else groups,
        )  # fmt: skip

    def scores(self, bag: int, *, clip_each_row: bool = False) -> np.ndarray:
        """Scores of TRIALS rounds, each with noise of its own, from the models of the run."""
        sums: dict[int, np.ndarray] = {}
        models: list[np.ndarray] = []

        def train(model: np.ndarray, client: int, units: list[int], clip_norm: float) -> np.ndarray:
            if client == 1:
                return np.zeros_like(model)
            self.assertEqual(units, list(range(PERSONS)))
            models.append(model.astype(np.float64))
            if client not in sums:  # the model of every round counts as the first
                sums[client] = self.sum_of_site(bag, clip_norm, clip_each_row=clip_each_row)
            return sums[client]

        with tempfile.TemporaryDirectory() as folder:
            run = tacet.simulate(
                train, clients=2, units=[PERSONS, 2], initial=self.model, rounds=TRIALS + 1,
                privacy=tacet.Privacy(
                    unit="person", neighbouring="zero-out", record_rate=1.0,
                    noise_multiplier=NOISE, coordinate_bound=300.0, scale=1e-2, delta=1e-3,
                ),
                spare_attempts=0, evaluate_every=TRIALS, out=Path(folder) / "run", progress=False,
            )  # fmt: skip
            self.assertEqual(len(run.rounds), TRIALS + 1)
        steps = np.diff(np.stack(models), axis=0) * (PERSONS + 2)  # sums with noise
        others = self.sum_of_site(0, 1 - 2**-8, clip_each_row=False)
        return (steps - others) @ self.direction

    def length_of_canary(self, bag: int, *, clip_each_row: bool = False) -> float:
        """Length of the canary's part along its direction, in clip norms: 1 is the worst."""
        with_it, without = (
            self.sum_of_site(rows, 1.0, clip_each_row=clip_each_row) for rows in (bag, 0)
        )
        return float((with_it - without) @ self.direction)

    def claimed(self) -> float:
        """Epsilon of one round, as the package tells it: a run's is that of all its rounds."""
        return tacet.guarantee(
            clients=2, cohort=2, rounds=1, noise_multiplier=NOISE, delta=1e-3, unit="person",
            neighbouring="zero-out", record_rate=1.0, expected_batch=PERSONS + 2,
            coordinate_bound=300.0, scale=1e-2,
        ).epsilon  # fmt: skip

    def test_bags_of_1_to_200_rows_stay_within_the_claim(self) -> None:
        claimed = self.claimed()
        self.assertLess(claimed, 2)
        absent = self.scores(0)
        for bag in BAGS:
            present = self.scores(bag)
            self.assertLess(abs(self.length_of_canary(bag) - 1), 1e-4, bag)
            self.assertLessEqual(epsilon_at_least(present, absent, 1e-3), claimed, bag)

    def test_a_loop_that_clips_each_row_is_caught(self) -> None:
        claimed = self.claimed()
        absent = self.scores(0, clip_each_row=True)
        for bag in BAGS[2:]:  # 1 row is a whole bag, and 2 rows hide in the noise
            self.assertLess(abs(self.length_of_canary(bag, clip_each_row=True) / bag - 1), 1e-4)
            present = self.scores(bag, clip_each_row=True)
            self.assertGreater(epsilon_at_least(present, absent, 1e-3), claimed, bag)


if __name__ == "__main__":
    unittest.main()
