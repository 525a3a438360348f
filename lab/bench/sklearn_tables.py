#!/usr/bin/env python3
"""scikit-learn's tables of patients as CSV files, for `tacet-lab bench statistics`.

usage: lab/bench/sklearn_tables.py FOLDER

Writes FOLDER/sklearn/diabetes.csv (442 patients) and FOLDER/sklearn/breast_cancer.csv (569), with
the columns of `sklearn.datasets` and `target`. Values are as measured, not scaled.
"""

import csv
import pathlib
import sys

from sklearn.datasets import load_breast_cancer, load_diabetes


def main() -> None:
    """Writes the tables."""
    folder = pathlib.Path(sys.argv[1]) / "sklearn"
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in (
        ("diabetes", load_diabetes(scaled=False)),
        ("breast_cancer", load_breast_cancer()),
    ):
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*table.feature_names, "target"])
            for values, target in zip(table.data, table.target, strict=True):
                writer.writerow([*(f"{value:g}" for value in values), f"{target:g}"])


if __name__ == "__main__":
    main()
