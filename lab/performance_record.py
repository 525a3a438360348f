#!/usr/bin/env python3
"""The benchmarks behind docs/performance.md, as one record.

usage: lab/performance_record.py TACET_LAB OUT.json [PREFIX]

Runs each benchmark three times, round by round, so that a change of the machine's speed touches all
of them alike. Takes ten minutes on two cores with nothing else to do. With PREFIX it runs those
whose names begin with it, for example pair-keys.
"""

import json
import os
import subprocess
import sys

RUNS = 3
COMMITTEES = ("5,2", "7,2", "20,6")
RATES = ("26277", "300")


def benchmarks() -> dict[str, tuple[dict[str, str], list[str]]]:
    """Name to environment and arguments of each benchmark that is repeated."""
    jobs: dict[str, tuple[dict[str, str], list[str]]] = {}
    for committee in COMMITTEES:
        jobs[f"he {committee}"] = ({}, ["bench", "he", "--committee", committee])
        jobs[f"pair-keys {committee}"] = ({}, ["bench", "pair-keys", "--committee", committee])
    jobs["he paper"] = ({}, ["bench", "he", "--parameters", "paper"])
    for rate in RATES:
        jobs[f"dp {rate}"] = ({}, ["bench", "dp", "--rate", rate])
    for simd in ("avx2", "scalar"):
        jobs[f"he 7,2 {simd}"] = ({"TACET_SIMD": simd}, ["bench", "he", "--committee", "7,2"])
        for rate in RATES:
            jobs[f"dp {rate} {simd}"] = ({"TACET_SIMD": simd}, ["bench", "dp", "--rate", rate])
    for threads in ("1", "2"):
        jobs[f"train {threads}"] = ({}, ["bench", "train", "--threads", threads])
    jobs["privacy"] = ({}, ["bench", "privacy"])
    jobs["load"] = ({}, ["load", "--clients", "1000", "--rounds", "3"])
    return jobs


LARGE = ["bench", "he", "--dimension", "100000000", "--participants", "8", "--repetitions", "1"]


def measure(lab: str, environment: dict[str, str], arguments: list[str]) -> dict[str, object]:
    """The JSON that a benchmark prints."""
    print("tacet-lab", *arguments, *(f"{k}={v}" for k, v in environment.items()), flush=True)
    result = subprocess.run(
        [lab, *arguments, "--json"],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    return json.loads(result.stdout)


def main() -> None:
    """Measures and writes the record."""
    lab, out, prefix = [*sys.argv[1:], ""][:3]
    version = subprocess.run([lab, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    runs: dict[str, list[dict[str, object]]] = {}
    for _ in range(RUNS):
        for name, (environment, arguments) in benchmarks().items():
            if name.startswith(prefix):
                runs.setdefault(name, []).append(measure(lab, environment, arguments))
    if not prefix:
        runs["large"] = [measure(lab, {}, LARGE) for _ in range(2)]
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"program": version.stdout.strip(), "runs": runs}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
