#!/usr/bin/env python3
"""Tables and pictures of stored records: the figures in them are those of the records."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAB = pathlib.Path(__file__).resolve().parent
EXPERIMENTS = LAB.parent / "docs" / "experiments"


def records(folder):
    return [json.loads(path.read_text(encoding="utf-8"))
            for path in sorted((EXPERIMENTS / folder).glob("*.json"))]


class TablesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_on(self, name, made):
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(made), encoding="utf-8")
        done = subprocess.run([sys.executable, LAB / "tables.py", path], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        csv, svg = path.with_suffix(".csv"), path.with_suffix(".svg")
        # Without matplotlib there is no picture to look at, and the script has said so.
        self.assertTrue(svg.exists() or "matplotlib is missing" in done.stderr, done.stderr)
        return (csv.read_text(encoding="utf-8") if csv.exists() else "",
                svg.read_text(encoding="utf-8") if svg.exists() else None)

    def test_figure_2_is_the_stored_table(self):
        points = sorted(records("figure2"), key=lambda record: int(record["row"][len("sigma-"):]))
        csv, svg = self.run_on("figure", {"figure": "2", "points": points})
        self.assertEqual(csv, (EXPERIMENTS / "figure2/figure.csv").read_text(encoding="utf-8"))
        if svg is not None:
            self.assertIn("epsilon, T = 100", svg)

    def test_rows_have_a_line_and_a_curve_each(self):
        rows = records("table1")
        csv, svg = self.run_on("table", {"table": "1", "rows": rows})
        self.assertEqual(csv.count("\n"), len(rows) + 1)
        for row in rows:
            self.assertIn(f"\n{row['name']},{row['row']},{row['rounds']},", csv)
            if svg is not None:
                self.assertIn(f">{row['name']}<", svg)

    def test_table_2_stands_beside_the_published_seconds(self):
        table = json.loads((EXPERIMENTS / "table2/table.json").read_text(encoding="utf-8"))
        csv, svg = self.run_on("table", table)
        self.assertEqual(csv.count("\n"), 8)
        self.assertTrue(csv.startswith("step,published,paper,compact\n"))
        self.assertIn("\naggregate_s,26.22508,", csv)
        self.assertIn("\nupload_bytes,,7825536,1468340\n", csv)
        if svg is not None:
            self.assertIn(">published<", svg)

    def test_hospitals_are_drawn(self):
        made = json.loads((EXPERIMENTS / "hospitals/hospitals.json").read_text(encoding="utf-8"))
        csv, svg = self.run_on("hospitals", made)
        self.assertEqual(csv, "")
        if svg is not None:
            self.assertIn("together, each record protected", svg)

    def test_other_files_are_refused(self):
        path = self.folder / "other.json"
        path.write_text("{}", encoding="utf-8")
        done = subprocess.run([sys.executable, LAB / "tables.py", path], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no table.json, figure.json or hospitals.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
