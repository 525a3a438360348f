#!/usr/bin/env python3
"""Generator of invented patients: one CSV file for each hospital, to try tacet on.

usage: draw_patients.py [--patients N] [--seed S] FOLDER HOSPITAL...

A row is one patient: age (years), sbp (systolic blood pressure, mmHg), chol (cholesterol, mg/dl;
empty where it was not measured), smoker (0 or 1) and ill (0 or 1), which depends on the others.
Nobody's data are in it. Needs only the standard library of Python 3.
"""
import argparse
import csv
import math
import pathlib
import random


def patient(random_numbers, missing):
    """One row; `missing` is the share of patients without a cholesterol value."""
    age = min(max(random_numbers.gauss(58, 12), 18), 100)
    sbp = min(max(random_numbers.gauss(105 + 0.5 * age, 15), 70), 230)
    chol = min(max(random_numbers.gauss(210, 40), 80), 500)
    smoker = int(random_numbers.random() < 0.3)
    logit = 0.09 * (age - 58) + 0.05 * (sbp - 134) + 0.02 * (chol - 210) + 1.5 * (smoker - 0.3)
    ill = int(random_numbers.random() < 1 / (1 + math.exp(-logit)))
    shown = "" if random_numbers.random() < missing else f"{chol:.0f}"
    return [f"{age:.0f}", f"{sbp:.0f}", shown, smoker, ill]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patients", type=int, default=300, help="rows of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("hospitals", nargs="+")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for number, hospital in enumerate(arguments.hospitals):
        random_numbers = random.Random(f"{arguments.seed}/{hospital}")
        with open(arguments.folder / f"{hospital}.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["age", "sbp", "chol", "smoker", "ill"])
            for _ in range(arguments.patients):
                table.writerow(patient(random_numbers, 0.05 + 0.1 * (number % 3)))


if __name__ == "__main__":
    main()
