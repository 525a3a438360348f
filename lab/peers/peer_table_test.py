#!/usr/bin/env python3
"""Tests of the peers' table, picture and runner; needs no peer."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peer_table import COLUMNS, WORDS, markdown, picture, ratio, reasons  # noqa: E402
from run_peers import measured  # noqa: E402

OURS = {"name": "tacet", "version": "1", "protect_s": 0.004, "add_s": 0.06, "decrypt_s": 0.001,
        "upload_bytes": 1_474_000, "download_bytes": 1_900_000, "wrong_values": 0, "memory_mb": 90,
        "reads_update": "four seats", "drop_outs": "any", "noise_inside": "yes", "epsilon": 4.311,
        "epsilon_is": "a bound", "reasons": {}}
OTHER = dict(OURS, name="other & co", protect_s=0.4, decrypt_s=None, wrong_values=7,
             upload_bytes=14_740_000, epsilon=None,
             reasons={"decrypt_s": "the server does it", "epsilon": "it has none"})
ACCOUNTANT = {"name": "accountant", "version": "2", "epsilon": 10.0, "epsilon_is": "a bound",
              "reasons": {name: "it adds nothing" for name, *_ in (*COLUMNS, *WORDS)
                          if name != "epsilon"}}


def record(*rows: dict) -> dict:
    return {"dimension": 486654, "clients": 1000, "held": 5, "commit": "c", "date": "d",
            "machine": "m", "rows": list(rows)}


class TableTest(unittest.TestCase):
    def test_ratios_have_two_digits(self):
        self.assertEqual(ratio(4, 0.4), "10×")
        self.assertEqual(ratio(0.06, 0.05), "1.2×")
        self.assertEqual(ratio(1, 40), "0.025×")
        self.assertEqual(ratio(5000, 2), "2,500×")
        self.assertEqual(ratio(5, 0), "")

    def test_a_row_has_every_value_and_its_ratio(self):
        text = markdown(record(OURS, OTHER, ACCOUNTANT))
        self.assertIn("| tacet | 1 | 4 | 0.06 | 1 | 1,474,000 | 1,900,000 | 0 | 90 |", text)
        self.assertIn("| other & co | 1 | 400 (100×) | 0.06 (1.0×) | – | 14,740,000 (10×) |", text)
        self.assertIn("| 7 |", text)
        self.assertIn("4.31, a bound", text)
        self.assertIn("| accountant | – | – | – | 10.00, a bound |", text)
        # An accountant has no row of costs.
        self.assertEqual(text.count("| accountant |"), 1)

    def test_each_dash_has_a_reason(self):
        lines = reasons([OURS, OTHER, ACCOUNTANT])
        self.assertIn("- other & co (decrypt): the server does it.", lines)
        self.assertIn("- other & co (ε of the published setting): it has none.", lines)
        self.assertEqual(len([line for line in lines if "accountant" in line]), 1)
        with self.assertRaisesRegex(ValueError, "other & co has no value and no reason for"):
            markdown(record(OURS, dict(OTHER, reasons={})))

    def test_the_picture_is_svg_with_a_bar_for_each_measured_peer(self):
        svg = picture(record(OURS, OTHER, ACCOUNTANT))
        root = xml.etree.ElementTree.fromstring(svg)
        bars = [e for e in root.iter() if e.tag.endswith("rect") and e.get("height") == "16"]
        self.assertEqual(len(bars), 4)
        self.assertGreater(float(bars[1].get("width")), float(bars[0].get("width")))
        self.assertNotIn("& co", svg.replace("&amp; co", ""))

    def test_a_peer_that_cannot_run_is_a_row_of_dashes(self):
        row = measured("nobody", "no-such-package-here", "peer_accountants.py", ["nobody"])
        self.assertIn("not installed", row["reasons"]["protect_s"])
        self.assertIn("- nobody (all columns): it is not installed", markdown(record(OURS, row)))


if __name__ == "__main__":
    unittest.main()
