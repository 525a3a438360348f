#!/usr/bin/env python3
"""Noise, bytes and accuracy of four mechanisms at equal epsilon.

usage: lab/baselines/baselines.py TACET-LAB --config FILE [--data DIR --train] [--json]

Poisson-quantised Gaussian noise, distributed discrete Gaussian (Kairouz, Liu, Steinke 2021), Skellam
(Agarwal, Kairouz, Liu 2021) and binomial noise (Agarwal et al. 2018) on one plan, for replace-one
neighbours and cohorts of a fixed size. The published bounds are computed here; `tacet-lab baselines`
computes the plan of a given noise, and trains with it.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

MECHANISMS = ("poisson-gaussian", "discrete-gaussian", "skellam", "binomial")
LARGEST_ORDER = 256
LARGEST_EPSILON = 32  # beyond, the program's arithmetic carries no bound


@dataclass(frozen=True)
class Sensitivity:
    """Distances of two neighbouring integer sums, in units of the scale."""

    l1: float
    l2: float
    largest: float  # of a coordinate


@dataclass(frozen=True)
class Plan:
    """One setting; `noise` is sigma of the sum."""

    mechanism: str
    dimension: int
    cohort: int
    clip_norm: float
    coordinate_bound: float
    scale: float
    noise: float = 0.0

    def own_variance(self) -> float:
        """Variance of a participant's noise in steps; None is not drawn."""
        own = self.noise / math.sqrt(self.cohort) / self.scale
        if self.mechanism != "binomial":
            return own * own
        return 2 * math.ceil(min(2 * own * own, 2.0**30)) / 4  # of an even number of trials

    def can_draw(self) -> bool:
        """Whether a participant can draw its share; Poisson's limits are the program's to know."""
        own = self.own_variance()
        if self.mechanism == "poisson-gaussian":
            return own > 0
        return (0 < own <= 2.0**30
                and (self.mechanism != "discrete-gaussian" or math.sqrt(own) >= 0.5)
                and (self.mechanism != "binomial" or 4 * own <= 2.0**30))


def rounded_norm_bound(norm: float, dimension: float) -> float:
    """Norm of a vector of `norm` steps after rounding at random, rejected beyond, beta = exp(-1/2).

    Kairouz, Liu, Steinke 2021, equation 1.
    """
    root = math.sqrt(dimension)
    likely = norm * norm + dimension / 4 + norm + root / 2
    return math.sqrt(min((norm + root) ** 2, likely))


def replace_one(bound: float, largest: float, dimension: float) -> Sensitivity:
    """Two vectors of norm at most `bound` and coordinates at most `largest` differ.

    The distance in L1 is at most min(sqrt d, l2) l2, since it is one of integer vectors.
    """
    l2 = 2 * bound
    return Sensitivity(l2 * min(math.sqrt(dimension), l2), l2, 2 * largest)


def gaussian_rdp(alpha: float, l2: float, variance: float) -> float:
    return alpha * l2 * l2 / (2 * variance)


def skellam_rdp(alpha: float, distance: Sensitivity, variance: float) -> float:
    """Agarwal, Kairouz, Liu 2021, corollary 3.6; `variance` of the sum."""
    l2 = distance.l2**2
    return alpha * l2 / (2 * variance) + min(
        ((2 * alpha - 1) * l2 + 6 * distance.l1) / (4 * variance**2), 3 * distance.l1 / (2 * variance))


def discrete_gaussian_rdp(alpha: float, distance: Sensitivity, own_stddev: float,
                          participants: int, dimension: float) -> float:
    """Kairouz, Liu, Steinke 2021, theorem 1: a sum of discrete Gaussians of own_stddev >= 1/2."""
    if own_stddev < 0.5:
        return math.inf
    tau = 10 * sum(math.exp(-2 * math.pi**2 * own_stddev**2 * k / (k + 1))
                   for k in range(1, participants))
    stddev = math.sqrt(participants) * own_stddev
    l1, l2 = distance.l1 / stddev, distance.l2 / stddev
    return alpha / 2 * min(l2**2 + tau * dimension / 2, l2**2 + 2 * l1 * tau + tau**2 * dimension,
                           (l2 + tau * math.sqrt(dimension)) ** 2)


def log_add(a: float, b: float) -> float:
    larger = max(a, b)
    return larger if math.isinf(larger) else larger + math.log1p(math.exp(min(a, b) - larger))


def log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def log_expm1(x: float) -> float:
    return x if x > 700 else math.log(math.expm1(x)) if x > 0 else -math.inf


def amplified_rdp(alpha: int, rate: float, rdp: Callable[[float], float]) -> float:
    """A round with a uniform cohort of `rate` (Wang, Balle, Kasiviswanathan 2019, theorem 9)."""
    second = rdp(2)
    if math.isinf(second):
        return math.inf
    total = log_add(0, 2 * math.log(rate) + log_choose(alpha, 2)
                    + min(math.log(4) + log_expm1(second), second + math.log(2)))
    for j in range(3, alpha + 1):
        total = log_add(total, j * math.log(rate) + log_choose(alpha, j) + (j - 1) * rdp(j)
                        + math.log(2))
    return total / (alpha - 1)


def epsilon_of_rdp(rdp: Callable[[float], float], rate: float, rounds: int, delta: float) -> float:
    """Least epsilon over integer orders (Canonne, Kamath, Steinke 2020, proposition 12)."""
    least = math.inf
    for alpha in range(2, LARGEST_ORDER + 1):
        plain = rdp(alpha)
        # Amplification never costs: the joint convexity of the divergence.
        one = min(plain, amplified_rdp(alpha, rate, rdp)) if rate < 1 else plain
        epsilon = (rounds * one + math.log1p(-1 / alpha)
                   - (math.log(delta) + math.log(alpha)) / (alpha - 1))
        least = min(least, max(0.0, epsilon))
    return least


def binomial_epsilon(distance: Sensitivity, trials: float, dimension: float, rate: float,
                     rounds: int, delta: float) -> float:
    """`trials` fair trials a coordinate in the sum (Agarwal et al. 2018, theorem 1, p = 1/2),
    amplified by the rate, composed by advanced composition (Dwork, Rothblum, Vadhan 2010); the
    least over splits of delta. Infinity where the theorem needs more trials."""
    variance = trials / 4
    least = math.inf
    for step in range(1, 50):
        share = 0.02 * step  # delta = rounds rate delta_1 + delta_2
        own = share * delta / (rounds * rate)
        if own >= 1 or variance < max(23 * math.log(10 * dimension / own), 2 * distance.largest):
            continue
        log_own, log_ten = math.log(1.25 / own), math.log(10 / own)
        one = (distance.l2 * math.sqrt(2 * log_own / variance)
               + (distance.l2 * math.sqrt(2) * 1.75 * math.sqrt(log_ten) + distance.l1 / 3)
               / (variance * (1 - own / 10))
               + 2 / 3 * distance.largest
               * (log_own + math.log(20 * dimension / own) * log_ten) / variance)
        amplified = one if one > 500 else math.log1p(rate * math.expm1(one))
        least = min(least, rounds * amplified)
        if amplified < 500:
            least = min(least, amplified * math.sqrt(2 * rounds * math.log(1 / ((1 - share) * delta)))
                        + rounds * amplified * math.expm1(amplified))
    return least


def epsilon_of(plan: Plan, rate: float, rounds: int, delta: float) -> float:
    """Epsilon at `delta` of so many rounds; infinity without a bound."""
    own = plan.own_variance()
    variance = plan.cohort * own
    norm = plan.clip_norm / plan.scale
    if plan.mechanism == "poisson-gaussian":  # quantising is post-processing of the Gaussian sum
        return epsilon_of_rdp(lambda alpha: gaussian_rdp(alpha, 2 * norm, variance), rate, rounds,
                              delta)
    distance = replace_one(rounded_norm_bound(norm, plan.dimension),
                           plan.coordinate_bound / plan.scale + 1, plan.dimension)
    if plan.mechanism == "discrete-gaussian":  # proportional to the order
        first = discrete_gaussian_rdp(1, distance, math.sqrt(own), plan.cohort, plan.dimension)
        return epsilon_of_rdp(lambda alpha: alpha * first, rate, rounds, delta)
    if plan.mechanism == "skellam":
        return epsilon_of_rdp(lambda alpha: skellam_rdp(alpha, distance, variance), rate, rounds,
                              delta)
    return binomial_epsilon(distance, 4 * variance, plan.dimension, rate, rounds, delta)


def noise_for_epsilon(plan: Plan, rate: float, rounds: int, delta: float,
                      epsilon: float) -> float | None:
    """Least sigma of the sum, within 0.1 %, that costs at most `epsilon`; None: not at this scale."""
    def is_enough(noise: float) -> bool:
        tried = replace(plan, noise=noise)
        return tried.can_draw() and epsilon_of(tried, rate, rounds, delta) <= epsilon

    # From little noise upwards: what cannot be drawn counts as too little, until some is enough.
    low = high = plan.clip_norm / 4
    for _ in range(60):
        high *= 1.3
        if is_enough(high):
            break
        low = high
    else:
        return None
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high


def ask(program: str, arguments: list[str]) -> dict[str, Any] | None:
    """The program's answer about a noise; None where it refuses, with the reason on stderr."""
    done = subprocess.run([program, "baselines", *arguments, "--json"], stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode == 1:
        return None
    done.check_returncode()
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", help="path of tacet-lab")
    parser.add_argument("--config", required=True, type=pathlib.Path)
    parser.add_argument("--data", help="data set, replaces the configuration's")
    parser.add_argument("--epsilon", type=float, default=5.306)
    parser.add_argument("--dimension", type=int, default=486_654)
    parser.add_argument("--clients", type=int, default=3596)
    parser.add_argument("--train", action="store_true",
                        help="train with each mechanism at the configuration's scale")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not 0 < args.epsilon <= LARGEST_EPSILON:
        parser.error(f"--epsilon is {args.epsilon}, it must be above 0 and at most {LARGEST_EPSILON}")
    common = ["--config", str(args.config), "--epsilon", repr(args.epsilon),
              "--dimension", str(args.dimension), "--clients", str(args.clients)]
    common += ["--data", args.data] if args.data else []
    common += ["--threads", str(args.threads)] if args.threads is not None else []
    common += ["--train"] if args.train else []
    made = ask(args.program, common)
    if made is None:
        return 1
    rate = made["cohort"] / made["clients"]
    rounds, delta = made["rounds"], made["delta"]
    rows = []
    for factor in (1,) if args.train else (1, 10, 100, 1000):
        for mechanism in MECHANISMS:
            plan = Plan(mechanism, made["dimension"], made["cohort"], made["clip_norm"],
                        made["coordinate_bound"], made["scale"] * factor)
            row = {"mechanism": mechanism, "scale": plan.scale, "noise_stddev": None}
            rows.append(row)
            noise = noise_for_epsilon(plan, rate, rounds, delta, args.epsilon)
            found = None if noise is None else ask(args.program, [
                *common, "--mechanism", mechanism, "--noise-stddev", repr(noise), "--scale",
                repr(plan.scale)])
            if found is not None:
                row |= found["row"]
                row["epsilon"] = epsilon_of(replace(plan, noise=noise), rate, rounds, delta)
    made["rows"] = rows
    if args.json:
        print(json.dumps(made, indent=2))
        return 0
    print(f"d = {made['dimension']}, K = {made['cohort']} of {made['clients']}, T = {rounds}, "
          f"S = {made['clip_norm']}, epsilon {args.epsilon} at delta {delta}")
    print(f"{'mechanism':<18}{'scale':>10}{'noise/S':>10}{'deviation/S':>12}{'bits':>6}{'bytes':>12}"
          f"{'accuracy %':>12}")
    for row in rows:
        start = f"{row['mechanism']:<18}{row['scale']:>10.2g}"
        if row["noise_stddev"] is None:
            print(f"{start}  no noise that it can draw is enough")
            continue
        accuracy = row.get("accuracy")
        print(f"{start}{row['noise_stddev'] / made['clip_norm']:>10.3f}"
              f"{row['sum_stddev'] / made['clip_norm']:>12.3f}{row['sum_bits']:>6}"
              f"{row['residue_bytes']:>12}"
              f"{'-' if accuracy is None else f'{100 * accuracy:.2f}':>12}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
