#!/usr/bin/env python3
"""Compares the figures of privacy on the pages with what the program prints.

usage: documented_figures_test.py PROGRAM [whole]

Without `whole` it compares every third entry.
Each entry is a page, a text with places for figures, and the figures with their commands. The page
must have the text with the figures that the program computes now; line breaks do not count.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRIVACY = "docs/security/privacy.md"
FIXED_SIZE = "docs/security/fixed-size-accounting.md"
HOSPITALS = "docs/guide/hospitals.md"
README = "README.md"

PAPER = "--clients 3596 --cohort 1000 --rounds 100 --noise-multiplier 6"
EVERYBODY = PAPER + " --sampling fixed-size --min-participants 1000"
# Observers that know the cohorts, at the paper's setting.
KNOWN = "--clients 1000 --cohort 1000 --min-participants 1000 --noise-multiplier 6"
COINS = PAPER + " --sampling poisson"
RECORDS = "--unit record --clients 4 --min-participants 4 --record-rate 0.1 --rounds 200 \
--noise-multiplier 3"
STOPPED = "--clients 20 --cohort 10 --min-participants 20 --noise-multiplier 4"
GUIDE = "--unit record --record-rate 0.2 --clients 4 --noise-multiplier 4.9 --rounds 100"
ZERO_OUT = " --neighbouring zero-out"


def absent(clients, cohort, least, noise, rounds):
    return (f"--clients {clients} --cohort {cohort} --min-participants {least} "
            f"--noise-multiplier {noise} --rounds {rounds} --sampling poisson")


# A figure: command, observer ("worst": the one that counts), accountant (None: the smallest bound;
# "all": the largest figure), member, digits after the point.
def figure(command, observer="worst", accountant=None, member="epsilon", digits=2):
    return command, observer, accountant, member, digits


def external(command, accountant=None, member="epsilon", digits=4):
    return figure(command, "external", accountant, member, digits)


def tight(command, digits=3):
    return external(command, "fixed-size-tight", digits=digits)


# The largest lower bound of any accountant.
def attained(command):
    return external(command, "all", "epsilon_lower", 3)


SMALL = absent(200, 50, 17, 4, 50)
MIDDLE = absent(1000, 200, 128, 3, 50)
LARGE = absent(3596, 1000, 842, 6, 100)

PAGES = [
    (FIXED_SIZE, "| replace-one | {} | {} | {} |",
     [external(EVERYBODY, "fixed-size-tight", "epsilon_lower"),
      external(EVERYBODY, "fixed-size-tight"), external(EVERYBODY, "pld")]),
    (FIXED_SIZE, "| zero-out | {} | {} | {} |",
     [external(EVERYBODY + ZERO_OUT, "fixed-size-tight", "epsilon_lower"),
      external(EVERYBODY + ZERO_OUT, "fixed-size-tight"), external(EVERYBODY + ZERO_OUT, "pld")]),
    (FIXED_SIZE, "| 2.230 | {} (m = 79) | {} |", [attained(SMALL), tight(SMALL)]),
    (FIXED_SIZE, "| 3.813 | {} (m = 718) | {} |", [attained(MIDDLE), tight(MIDDLE)]),
    (FIXED_SIZE, "| 3.867 | {} (m = 3224) | {} |", [attained(LARGE), tight(LARGE)]),
    (FIXED_SIZE, "and 2 attain {}, which is the row.",
     [external("--clients 4000 --cohort 320 --rounds 1 --noise-multiplier 4 --min-participants 2 "
               "--sampling fixed-size", digits=3)]),
    (PRIVACY, "| the paper, external observer (moments) | {} |", [external(EVERYBODY, "moments")]),
    (PRIVACY, "| real-order RDP | {} |", [external(EVERYBODY, "rdp")]),
    (PRIVACY, "| PLD, symmetrised envelope, replace-one / zero-out | {} / {} |",
     [external(EVERYBODY, "pld"), external(EVERYBODY + ZERO_OUT, "pld")]),
    (PRIVACY, "| fixed-size-tight, replace-one | {} (lower bound {}) |",
     [external(EVERYBODY, "fixed-size-tight"),
      external(EVERYBODY, "fixed-size-tight", "epsilon_lower")]),
    (PRIVACY, "| fixed-size-tight, zero-out | {} (lower bound {}) |",
     [external(EVERYBODY + ZERO_OUT, "fixed-size-tight"),
      external(EVERYBODY + ZERO_OUT, "fixed-size-tight", "epsilon_lower")]),
    (PRIVACY, "| Poisson of known size, K_min by default, replace-one / zero-out | {} / {} |",
     [tight(COINS), tight(COINS + ZERO_OUT)]),
    (PRIVACY, "the observer attains {}.", [attained(COINS)]),
    (PRIVACY, "| Poisson of hidden size (dummy uploads), replace-one / zero-out | {} / {} |",
     [external(PAPER, digits=3), external(PAPER + ZERO_OUT, digits=3)]),
    (PRIVACY, "| 70 % of the clients available | {} |",
     [external(EVERYBODY + " --availability 0.7", digits=3)]),
    (PRIVACY, "| cohort-aware observer: 100 / 45 / 28 participations | {} / {} / {} |",
     [figure(KNOWN + f" --rounds {rounds}", "cohort-aware") for rounds in (100, 45, 28)]),
    (PRIVACY, "ε is {} for c = 1, {} for 10, {} for 100 and {} for 500",
     [figure(KNOWN + f" --rounds 100 --colluders {c}", "coalition") for c in (1, 10, 100, 500)]),
    (PRIVACY, "cost {}, and 30 cost {}.",
     [figure(STOPPED + f" --rounds {rounds}", digits=3) for rounds in (3, 30)]),
    (PRIVACY, "- zero-out has {} for external observers and the server. It has {} for another",
     [external(RECORDS + ZERO_OUT, digits=2),
      figure(RECORDS + ZERO_OUT, "participant-in-cohort")]),
    (PRIVACY, "- replace-one has {} and {}.",
     [external(RECORDS, digits=2), figure(RECORDS, "participant-in-cohort")]),
    (README, "at ε = {} (δ = 10⁻⁵) against every observer that has a guarantee",
     [figure("--clients 2000 --cohort 400 --rounds 30 --noise-multiplier 6")]),
    (README, "For those who know, ε = {}.", [figure(KNOWN + " --rounds 100", "cohort-aware")]),
    (HOSPITALS, "reach ε = {}.",
     [figure("--clients 4 --cohort 4 --rounds 100 --noise-multiplier 6", digits=0)]),
    (HOSPITALS, "under replace-one ({} against {} in the example above)",
     [figure(GUIDE), figure(GUIDE + ZERO_OUT)]),
]

# A share in percent of `--explain` at the paper's setting: page, text, beginning of the observer's
# paragraph.
SHARES = [
    (PRIVACY, "an external observer can identify at most {} %",
     "- Anyone who sees every model"),
    (PRIVACY, "A cohort-aware observer can identify at most {} %",
     "- Anyone who knows who took part"),
]


def one_line(text):
    return " ".join(text.split())


def rows_of(program, command, remembered):
    if command not in remembered:
        output = subprocess.run([program, "privacy", "--json", "--delta", "1e-5", *command.split()],
                                check=True, stdout=subprocess.PIPE).stdout
        remembered[command] = json.loads(output)
    return remembered[command]


def value(program, wanted, remembered):
    command, observer, accountant, member, digits = wanted
    rows = rows_of(program, command, remembered)
    if observer == "worst":
        found = rows["worst"][member]
    else:
        found = max(row.get(member, 0) for row in rows["accountants" if accountant else "headlines"]
                    if row["observer"] == observer and accountant in (None, "all", row["name"]))
    return f"{found:.{digits}f}"


def main():
    program = sys.argv[1]
    pages = {page: one_line((ROOT / page).read_text(encoding="utf-8"))
             for page in {page for page, _, _ in PAGES}}
    remembered = {}
    missing = []
    for page, text, figures in PAGES[:: 1 if sys.argv[2:] == ["whole"] else 3]:
        expected = text.format(*(value(program, wanted, remembered) for wanted in figures))
        if one_line(expected) not in pages[page]:
            missing.append(f"{page} has not: {expected}")
    explained = subprocess.run([program, "privacy", "--explain", *EVERYBODY.split()], check=True,
                               stdout=subprocess.PIPE, text=True).stdout.split("\n")
    for page, text, begin in SHARES:
        paragraph = next(line for line in explained if line.startswith(begin))
        share = re.search(r"at most (\d+\.\d) % of", paragraph).group(1)
        if text.format(share) not in pages[page]:
            missing.append(f"{page} has not: {text.format(share)}")
    if missing:
        sys.exit("\n".join(missing))


if __name__ == "__main__":
    main()
