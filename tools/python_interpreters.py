#!/usr/bin/env python3
"""Interpreters of this machine for which the Python package can be built or used.

usage: tools/python_interpreters.py

Prints a line for each release of CPython that the package supports, the oldest first: its version,
"headers" or "no-headers", and its path. Looks at TACET_PYTHONS (paths separated by colons), at
python3 and python3.N on the search path, and where pyenv and uv keep interpreters. Free-threaded
ones are left out: they need a wheel of their own.
"""

import glob
import os
import pathlib
import subprocess
import sys

OLDEST = (3, 11)  # requires-python of pyproject.toml

FACTS = """
import os, sys, sysconfig
if sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    headers = os.path.isfile(os.path.join(sysconfig.get_path("include"), "Python.h"))
    print(*sys.version_info[:3], int(headers))
"""


def candidates():
    """Paths that may be interpreters, the preferred ones first."""
    yield from filter(None, os.environ.get("TACET_PYTHONS", "").split(":"))
    home = pathlib.Path.home()
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    uv = pathlib.Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local/share/uv/python"))
    folders = ["/usr/bin", *os.environ.get("PATH", "").split(":")]
    folders += [str(folder / "bin") for root in (pyenv / "versions", uv) for folder in root.glob("*")]
    for folder in folders:
        yield from sorted(glob.glob(os.path.join(folder, "python3")))
        yield from sorted(glob.glob(os.path.join(folder, "python3.[0-9]*[0-9]")))


def found():
    """Each release with whether it has headers, and its path."""
    releases = {}
    for path in dict.fromkeys(map(os.path.realpath, candidates())):
        try:
            told = subprocess.run([path, "-I", "-c", FACTS], capture_output=True, text=True, timeout=60)
            facts = [int(word) for word in told.stdout.split()]
        except (OSError, subprocess.TimeoutExpired, ValueError):
            continue  # a shim without an interpreter behind it, or another program
        if len(facts) == 4 and tuple(facts[:2]) >= OLDEST:
            releases.setdefault(tuple(facts[:3]), (bool(facts[3]), path))
    return sorted(releases.items())


def main():
    for release, (headers, path) in found():
        print(".".join(map(str, release)), "headers" if headers else "no-headers", path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
