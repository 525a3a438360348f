#!/usr/bin/env python3
"""Times of docs/security/compact-specification.md, held against the record of the benchmarks."""

import json
import pathlib
import statistics
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
RUNS = json.loads((DOCS / "performance.json").read_text(encoding="utf-8"))["runs"]["he 7,2"]


def median(name):
    return statistics.median(run[name] for run in RUNS)


class Times(unittest.TestCase):
    def test_each_row_is_the_median_of_the_record(self):
        page = (DOCS / "security" / "compact-specification.md").read_text(encoding="utf-8")
        for row in [
                f"| seal, with clipping, noise and shares | {1e3 * median('seal_s'):.1f} ms |",
                f"| masks and shares of one upload | {1e3 * median('share_s'):.2f} ms |",
                f"| a seat's unmasking of 1000 uploads | {1e3 * median('unmask_s'):.1f} ms |",
                f"| recovery of Σk | {1e3 * median('recover_s'):.2f} ms |",
                f"| 1000 uploads to the closed round | {median('aggregate_s'):.3f} s |",
                f"| decryption with the MAC | {1e3 * median('decrypt_s'):.2f} ms |"]:
            self.assertIn(row + "\n", page)


if __name__ == "__main__":
    unittest.main()
