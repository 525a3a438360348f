#!/usr/bin/env python3
"""The published bounds against the truth where it can be computed, and the noise they ask for.

usage: lab/baselines/baselines_test.py [PATH OF tacet-lab]
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import baselines
from baselines import Plan, Sensitivity

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None

CONFIG = """[model]
name = "logistic"
[federation]
rounds = 3
cohort = 8
min_participants = 8
sampling = "fixed-size"
[privacy]
clip_norm = 0.5
coordinate_bound = 0.05
noise_multiplier = 6
scale = 1e-3
[data]
handwriting_writers = 12
handwriting_min_samples = 12
handwriting_max_samples = 20
handwriting_classes = 4
"""


def convolved(a, b):
    """Law of a sum of two integers on -half .. half."""
    half = len(a) // 2
    total = [0.0] * len(a)
    for i in range(-half, half + 1):
        for j in range(max(-half, i - half), min(half, i + half) + 1):
            total[i + half] += a[j + half] * b[i - j + half]
    return total


def discrete_gaussian(stddev, half):
    law = [math.exp(-k * k / (2 * stddev**2)) for k in range(-half, half + 1)]
    return [p / sum(law) for p in law]


def skellam(variance, half):
    poisson = [math.exp(k * math.log(variance / 2) - variance / 2 - math.lgamma(k + 1))
               for k in range(half + 1)]
    up = [0.0] * half + poisson
    return convolved(up, up[::-1])


def divergence(law, shift, alpha):
    """Renyi divergence of order alpha between a law and itself moved by `shift`."""
    total = sum(math.exp(alpha * math.log(moved) + (1 - alpha) * math.log(p))
                for p, moved in zip(law[shift:], law) if p > 0 and moved > 0)
    return math.log(total) / (alpha - 1)


class BoundsTest(unittest.TestCase):
    def test_the_skellam_bound_is_above_the_truth_and_near_it(self):
        for variance in (4.0, 30.0):
            law = skellam(variance, 120)
            for shift in (1, 2, 3):
                for alpha in (2, 4, 8):
                    truth = divergence(law, shift, alpha)
                    bound = baselines.skellam_rdp(alpha, Sensitivity(shift, shift, shift), variance)
                    self.assertGreaterEqual(bound, truth * (1 - 1e-9))
                    self.assertLess(bound, 3 * truth)

    def test_the_discrete_gaussian_bound_is_above_the_truth(self):
        for own in (0.6, 1.0):
            one = discrete_gaussian(own, 60)
            law = convolved(convolved(one, one), convolved(one, one))
            for shift in (1, 2):
                for alpha in (2, 5):
                    bound = baselines.discrete_gaussian_rdp(
                        alpha, Sensitivity(shift, shift, shift), own, 4, 1)
                    self.assertGreaterEqual(bound, divergence(law, shift, alpha) * (1 - 1e-9))
        self.assertEqual(baselines.discrete_gaussian_rdp(2, Sensitivity(1, 1, 1), 0.4, 10, 1),
                         math.inf)
        # Of large shares it is the Gaussian's.
        self.assertAlmostEqual(
            baselines.discrete_gaussian_rdp(2, Sensitivity(9, 3, 3), 10, 100, 1e6),
            baselines.gaussian_rdp(2, 3, 100 * 100), delta=1e-12)

    def test_the_binomial_bound_holds(self):
        # One coordinate moved by one, no amplification, one round: the true delta at the bound's
        # epsilon.
        trials, delta = 4000, 1e-3
        epsilon = baselines.binomial_epsilon(Sensitivity(1, 1, 1), trials, 1, 1, 1, delta)
        self.assertTrue(0 < epsilon < math.inf)
        law = [math.exp(math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
                        - trials * math.log(2)) for k in range(trials + 1)]
        excess = law[0] + sum(max(0.0, p - math.exp(epsilon) * before)
                              for before, p in zip(law, law[1:]))
        self.assertLessEqual(excess, delta)
        # The theorem says nothing about few trials.
        self.assertEqual(baselines.binomial_epsilon(Sensitivity(1, 1, 1), 100, 1, 1, 1, delta),
                         math.inf)

    def test_the_gaussian_bound_is_above_the_librarys_and_near_it(self):
        def rdp(alpha):
            return baselines.gaussian_rdp(alpha, 2, 36)

        # All take part: epsilon of one Gaussian of sensitivity 2 sqrt(100) / 6, by its own formula.
        def delta_of(epsilon, mu=2 * 10 / 6):
            tail = lambda x: math.erfc(x / math.sqrt(2)) / 2
            return tail(epsilon / mu - mu / 2) - math.exp(epsilon) * tail(epsilon / mu + mu / 2)

        low, high = 0.0, 100.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if delta_of(middle) > 1e-5 else (low, middle)
        everybody = baselines.epsilon_of_rdp(rdp, 1, 100, 1e-5)
        self.assertGreaterEqual(everybody, high)
        self.assertLess(everybody, 1.15 * high)
        # With cohorts it lies between the library's tight bound and the plain one.
        amplified = baselines.epsilon_of_rdp(rdp, 1000 / 3596, 100, 1e-5)
        self.assertGreater(amplified, 4.311)
        self.assertLess(amplified, everybody)

    def test_rounding_costs_at_most_both_bounds(self):
        self.assertAlmostEqual(baselines.rounded_norm_bound(0, 4), math.sqrt(2))
        self.assertLess(baselines.rounded_norm_bound(1000, 1e4),
                        math.sqrt(1000**2 + 1e4 / 4 + 1051))
        fine = baselines.replace_one(1000, 50, 1e4)
        self.assertEqual((fine.l1, fine.l2, fine.largest), (2000 * 100, 2000, 100))
        self.assertEqual(baselines.replace_one(2, 2, 1e4).l1, 16)

    def test_amplification_is_none_without_a_divergence(self):
        self.assertEqual(baselines.amplified_rdp(3, 0.1, lambda _: math.inf), math.inf)
        self.assertAlmostEqual(baselines.amplified_rdp(2, 0.5, lambda _: 0.0), 0, delta=1e-12)

    def test_noise_for_epsilon_is_the_least(self):
        def plan(mechanism, scale, noise=0.0):
            return Plan(mechanism, 2000, 50, 1.0, 0.1, scale, noise)

        def epsilon(mechanism, noise):
            return baselines.epsilon_of(plan(mechanism, 1e-3, noise), 0.25, 20, 1e-5)

        for mechanism in ("poisson-gaussian", "discrete-gaussian", "skellam"):
            noise = baselines.noise_for_epsilon(plan(mechanism, 1e-3), 0.25, 20, 1e-5, 3)
            self.assertLessEqual(epsilon(mechanism, noise), 3)
            self.assertGreater(epsilon(mechanism, 0.99 * noise), 3)
        # Rounding makes an update longer: at a coarse scale the others need more noise than ours.
        ours = baselines.noise_for_epsilon(plan("poisson-gaussian", 0.02), 0.25, 20, 1e-5, 3)
        other = baselines.noise_for_epsilon(plan("skellam", 0.02), 0.25, 20, 1e-5, 3)
        self.assertGreater(other, 1.05 * ours)


# ctest gives the path. Without it the file still tests the formulas.
@unittest.skipIf(PROGRAM is None, "no path of tacet-lab")
class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.config = pathlib.Path(folder.name) / "config.toml"
        self.config.write_text(CONFIG, encoding="utf-8")

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, FOLDER / "baselines.py", PROGRAM, "--config",
                               self.config, *arguments], capture_output=True, text=True, check=False)

    def test_baselines_are_trained_at_equal_epsilon(self):
        done = self.run_script("--train", "--epsilon", "30", "--threads", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([row["mechanism"] for row in rows], list(baselines.MECHANISMS))
        for row in rows:
            self.assertIn(f"{row['mechanism']}: round 3/3\n", done.stderr)
            self.assertTrue(20 < row["epsilon"] <= 30, row)
            self.assertTrue(0 <= row["accuracy"] <= 1, row)

    def test_wrong_use_is_named(self):
        self.assertIn("--threads is 0", self.run_script("--train", "--threads", "0").stderr)
        self.assertIn("at most 32", self.run_script("--train", "--epsilon", "33").stderr)

    def test_plans_need_no_data(self):
        done = self.run_script("--dimension", "4000", "--clients", "100")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("poisson-gaussian"), 4)
        self.assertIn("d = 4000, K = 8 of 100, T = 3", done.stdout)


if __name__ == "__main__":
    unittest.main()
