#!/usr/bin/env python3
"""Runs check_NAME.py on fixtures/NAME, a tree that breaks every rule once, and compares its output.

usage: tools/check_fixture_test.py NAME...
"""

import pathlib
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parent


def notices_every_rule(name):
    """True if the checker says exactly what its fixture expects; prints both texts otherwise."""
    fixture = TOOLS / "fixtures" / name
    result = subprocess.run([sys.executable, TOOLS / f"check_{name}.py", fixture],
                            stdout=subprocess.PIPE, check=False)
    got = result.stdout.decode()
    expected = (fixture / "expected.txt").read_text(encoding="utf-8")
    if result.returncode == 1 and got == expected:
        return True
    print(f"check_{name}.py: status {result.returncode}, expected 1\n"
          f"--- got\n{got}--- expected\n{expected}", end="")
    return False


def main():
    names = sys.argv[1:]
    if not names:
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if all([notices_every_rule(name) for name in names]) else 1


if __name__ == "__main__":
    sys.exit(main())
