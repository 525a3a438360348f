#!/usr/bin/env python3
"""Holds rlwe_estimate.py against published figures, and docs/security/rlwe.md against it."""

import math
import pathlib
import sys
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))

import rlwe_estimate  # noqa: E402

PAGE = TOOLS.parent / "docs" / "security" / "rlwe.md"
SPECIFICATION = PAGE.with_name("compact-specification.md")
LOG_TERNARY = math.log(2 / 3) / 2
LOG_ERROR = math.log(3.19)


def bits(slope, log2_modulus, log_secret):
    block, dimension = rlwe_estimate.block_size(4096, log2_modulus, log_secret, LOG_ERROR)
    return slope * block + 16.4 + math.log2(8 * dimension)


class RlweEstimateTest(unittest.TestCase):
    def test_kyber_512_as_in_the_lattice_estimators_manual(self):
        log_deviation = math.log(1.5) / 2
        found = rlwe_estimate.block_size(512, math.log2(3329), log_deviation, log_deviation, 512)
        self.assertEqual(found, (406, 998))
        self.assertAlmostEqual(rlwe_estimate.gates(*found), 143.8, delta=0.05)

    def test_limits_of_the_homomorphic_encryption_standard(self):
        self.assertAlmostEqual(bits(0.292, 109, LOG_TERNARY), 128, delta=0.2)
        self.assertAlmostEqual(bits(0.292, 111, LOG_ERROR), 128, delta=0.2)
        self.assertAlmostEqual(bits(0.265, 101, LOG_TERNARY), 128, delta=1.5)
        self.assertAlmostEqual(bits(0.265, 103, LOG_ERROR), 128, delta=1.5)

    def test_what_a_sum_of_two_leaves(self):
        determined, log_deviation = rlwe_estimate.given_sum(rlwe_estimate.TERNARY, 2)
        self.assertAlmostEqual(determined, 2 / 9)
        self.assertAlmostEqual(log_deviation, (4 / 9 * math.log(1 / 4) + 3 / 9 * math.log(2 / 3))
                               / 2 / (7 / 9))
        determined, log_deviation = rlwe_estimate.given_sum(rlwe_estimate.ERROR, 2)
        self.assertAlmostEqual(math.log2(determined), -83)
        self.assertAlmostEqual(math.exp(2 * log_deviation), 5.25, delta=0.01)

    def test_the_specification_states_the_sum_of_two(self):
        row = next(line for line in rlwe_estimate.table().splitlines()
                   if line.startswith("| CBD(21) | 2 |"))
        classical, quantum = [cell.strip() for cell in row.split("|")][7:9]
        self.assertIn(f"Its estimate is {classical} bits classical and {quantum} quantum",
                      " ".join(SPECIFICATION.read_text(encoding="utf-8").split()))

    def test_the_page_has_this_table(self):
        self.assertIn("\n\n" + rlwe_estimate.table() + "\n", PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
