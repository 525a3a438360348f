#!/usr/bin/env python3
"""Runs check_prose.py on a tree that breaks every rule once and compares what it says."""

import pathlib
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parent
FIXTURE = TOOLS / "fixtures" / "prose"


def main():
    result = subprocess.run([sys.executable, TOOLS / "check_prose.py", FIXTURE],
                            stdout=subprocess.PIPE, check=False)
    got = result.stdout.decode()
    expected = (FIXTURE / "expected.txt").read_text(encoding="utf-8")
    if result.returncode == 1 and got == expected:
        return 0
    print(f"status {result.returncode}, expected 1\n--- got\n{got}--- expected\n{expected}", end="")
    return 1


if __name__ == "__main__":
    sys.exit(main())
