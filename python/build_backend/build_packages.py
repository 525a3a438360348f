"""Check of the Debian packages that compiling the package needs.

The lists are those of ``tools/packages/``, which ``tools/setup.sh`` installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

__all__ = ["MissingPackagesError", "look"]

LISTS = Path(__file__).resolve().parents[2] / "tools" / "packages"
REQUIRED, NETWORK = ("demo", "python"), ("server",)
SETUP = "tools/setup.sh demo server python"

# A package of a program is not missed where one of the programs is there.
PROGRAMS = {
    "g++": ("c++", "g++", "clang++"),
    "cmake": ("cmake",),
    "ninja-build": ("ninja",),
    "pkg-config": ("pkg-config", "pkgconf"),
}
BROUGHT_BY_PIP = {"cmake", "ninja-build"}
# It makes environments, and pip runs in one already.
UNUSED = {"python3-venv"}


class MissingPackagesError(Exception):
    """The build cannot begin: the text names the packages and the command that installs them."""


def packages_of(sets: tuple[str, ...]) -> list[str]:
    """Return the packages of the sets, less those that a command of this machine replaces."""
    packages = []
    for name in sets:
        for line in (LISTS / name).read_text(encoding="utf-8").splitlines():
            # A line is "PACKAGE" or "PACKAGE unless COMMAND".
            words = line.partition("#")[0].split()
            if words and not (words[1:2] == ["unless"] and shutil.which(words[2])):
                packages.append(words[0])
    return packages


def installed(packages: list[str]) -> set[str]:
    """Return those of the packages that Debian's dpkg has installed."""
    form = "${Package} ${db:Status-Status}\n"
    # The status is 1 if a package is unknown; the others are listed all the same.
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", form, *packages], capture_output=True, text=True, check=False
    )
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {words[0] for words in lines if words[1:] == ["installed"]}


def missing(packages: list[str]) -> list[str]:
    """Return those of the packages that are missed; without dpkg no library is."""
    known = installed(packages) if shutil.which("dpkg-query") else set(packages)

    def is_missed(package: str) -> bool:
        if package == "python3-dev":  # headers of the Python that runs, which may be another one
            return not Path(sysconfig.get_path("include"), "Python.h").is_file()
        if package in PROGRAMS:
            chosen = package == "g++" and os.environ.get("CXX")
            return not chosen and not any(shutil.which(name) for name in PROGRAMS[package])
        return package not in known

    return [package for package in packages if is_missed(package)]


def look(*, pip_brings_programs: bool, network: str = "AUTO") -> str | None:
    """Look for what compiling the package needs.

    Args:
        pip_brings_programs: pip installs cmake and ninja before it compiles.
        network: TACET_NETWORK of the build. AUTO leaves out live federations where their
            libraries are missing, ON requires them, OFF leaves them out.

    Returns:
        A line for the user, or None.

    Raises:
        MissingPackagesError: packages are missing.
    """
    if os.environ.get("TACET_SKIP_SETUP") == "1":
        return None
    required, optional = packages_of(REQUIRED), packages_of(NETWORK)
    if network.upper() != "AUTO":
        required += [] if network.upper() == "OFF" else optional
        optional = []
    skipped = UNUSED | (BROUGHT_BY_PIP if pip_brings_programs else set())
    required = [package for package in required if package not in skipped]
    absent, left_out = missing(required), missing(optional)

    if not shutil.which("dpkg-query"):
        text = (
            "this is not a Debian system. Compilation needs what these Debian 12 packages contain: "
            f"{' '.join(required)}."
        )
        if optional:
            text += f" Live federations need in addition: {' '.join(optional)}."
        if absent:
            text += (
                f"\nThis machine lacks: {' '.join(absent)}. Install what they contain, or set "
                "TACET_SKIP_SETUP=1 if it is there."
            )
            raise MissingPackagesError(text)
        return text
    if absent:
        text = f"compilation needs Debian packages that are missing: {' '.join(absent)}."
        if left_out:
            text += f"\nLive federations need in addition: {' '.join(left_out)}."
        text += (
            f"\nInstall all of them, in a copy of the repository:\n  {SETUP}"
            "\nor as root, anywhere:\n  apt-get update && apt-get install --no-install-recommends "
            f"{' '.join(absent + left_out)}"
            "\nIf this machine has the libraries from elsewhere, set TACET_SKIP_SETUP=1."
        )
        raise MissingPackagesError(text)
    if left_out:
        return (
            "live federations (tacet.Member) are left out, since Debian packages are missing: "
            f"{' '.join(left_out)}. To have them: {SETUP}"
        )
    return None
