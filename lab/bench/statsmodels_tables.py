#!/usr/bin/env python3
"""statsmodels' tables of people as CSV files, for `tacet-lab bench statistics`.

usage: lab/bench/statsmodels_tables.py FOLDER

Writes FOLDER/statsmodels/fair.csv (6,366 marriages) and FOLDER/statsmodels/randhie.csv (20,190
years of people with a health insurance), with the columns of `statsmodels.datasets`.
"""

import csv
import pathlib
import sys

from statsmodels.datasets import fair, randhie


def main() -> None:
    """Writes the tables."""
    folder = pathlib.Path(sys.argv[1]) / "statsmodels"
    folder.mkdir(parents=True, exist_ok=True)
    for name, package in (("fair", fair), ("randhie", randhie)):
        table = package.load().data
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.columns)
            for row in table.itertuples(index=False):
                writer.writerow([f"{value:g}" for value in row])


if __name__ == "__main__":
    main()
