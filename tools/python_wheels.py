#!/usr/bin/env python3
"""Wheels of the Python package for the interpreters of this machine, each tried with all of them.

usage: tools/python_wheels.py FOLDER

Builds the wheel of Python 3.11 and the one of the stable ABI for 3.12 and later, as far as there
are interpreters with headers (tools/python_interpreters.py), into FOLDER/wheelhouse. The C++
libraries are compiled once. Then every interpreter, also one without headers, gets an environment
of its own with the wheel that pip chooses for it, and uses it (tools/wheel_use.py).
"""

import os
import pathlib
import shutil
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))
import python_interpreters  # noqa: E402

STABLE_ABI = (3, 12)  # wheel.py-api of pyproject.toml
LARGEST_BYTES = 25_000_000
POLICY = "manylinux_2_34"


def run(title, *command, **variables):
    """Run a command with its output in a log."""
    environment = {**os.environ, **variables}
    subprocess.run([TOOLS / "quiet.sh", title, *command], check=True, env=environment)


def release_of(version):
    return ".".join(map(str, version))


def build(folder, version, path):
    """Build the wheel for an interpreter."""
    name = release_of(version[:2])
    environment = folder / f"build-{name}"
    requirements = TOOLS.parent / "python/requirements/wheel.txt"
    run(
        f"environment of python {name}",
        TOOLS / "python_environment.sh",
        environment,
        requirements,
        TACET_PYTHON3=path,
    )
    run(f"wheel of python {name}", TOOLS / "python_wheel.sh", environment, folder)
    return environment


def check(wheel, environment):
    """Fail for a wheel that is too large, needs newer systems, or leaves the stable ABI."""
    size = wheel.stat().st_size
    if size > LARGEST_BYTES:
        sys.exit(f"python_wheels: {wheel} has {size} bytes, more than {LARGEST_BYTES}")
    if POLICY not in wheel.name:
        told = subprocess.run([environment / "bin/python", "-m", "auditwheel", "show", wheel],
                              capture_output=True, text=True, check=False).stdout
        sys.exit(f"python_wheels: {wheel.name} is not for {POLICY}:\n{told}")
    if "-abi3-" in wheel.name:
        run("abi3audit", environment / "bin/python", "-m", "abi3audit", "--strict", wheel)


def use(folder, version, path):
    """Install the wheel that fits an interpreter into an environment of its own, and use it."""
    environment = folder / f"use-{release_of(version)}"
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([path, "-m", "venv", environment], check=True)
    python = environment / "bin/python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    run(f"numpy for python {release_of(version)}", *pip, "--only-binary", ":all:", "numpy>=1.24")
    run(f"install for python {release_of(version)}",
        *pip, "--no-index", "--find-links", folder / "wheelhouse", "tacet")
    run(f"use with python {release_of(version)}",
        "env", "-C", environment, "-i", f"PATH={environment / 'bin'}:/usr/bin:/bin",
        "LC_ALL=C.UTF-8", python, TOOLS / "wheel_use.py", environment / "runs")
    shutil.rmtree(environment)


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: tools/python_wheels.py FOLDER")
    folder = pathlib.Path(arguments[0]).resolve()
    shutil.rmtree(folder / "wheelhouse", ignore_errors=True)
    interpreters = python_interpreters.found()
    built = []
    for is_stable in (False, True):
        for version, (headers, path) in interpreters:
            if headers and (version[:2] >= STABLE_ABI) == is_stable:
                environment = build(folder, version, path)
                built.append(is_stable)
                break
    if not built:
        sys.exit("python_wheels: no Python of 3.11 or later with headers (python3-dev) is here; "
                 "TACET_PYTHONS names paths of interpreters")
    wheels = sorted((folder / "wheelhouse").glob("tacet-*.whl"))
    for wheel in wheels:
        check(wheel, environment)
    for version, (_, path) in interpreters:
        if (version[:2] >= STABLE_ABI) in built:
            use(folder, version, path)
    for wheel in wheels:
        print(f"{wheel}  {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
