"""Build backend of the package: scikit-build-core, after a look for what compilation needs.

pip calls its functions (PEP 517, PEP 660). Without the look, CMake stops at the first library that
it does not find, and names no package.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from build_packages import MissingPackagesError, look
from scikit_build_core import build as scikit_build
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    Settings = dict[str, list[str] | str] | None

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def _looked(settings: Settings, *, pip_brings_programs: bool) -> str | None:
    """Look for the packages; ends the process where they are missing."""
    network = (settings or {}).get("cmake.define.TACET_NETWORK", "AUTO")
    try:
        return look(pip_brings_programs=pip_brings_programs, network=str(network))
    except MissingPackagesError as error:
        sys.exit(f"tacet: {error}")


@contextlib.contextmanager
def _compilation(settings: Settings) -> Iterator[None]:
    """Look for the packages before compilation; a failure ends with the look's line."""
    line = _looked(settings, pip_brings_programs=False)
    if line is not None:
        print(f"tacet: {line}", file=sys.stderr)
    try:
        yield
    except SystemExit:
        if line is not None:
            print(f"tacet: {line}", file=sys.stderr)
        raise


# The first functions that pip calls, before it installs its own cmake and ninja.


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return the packages of the index that a wheel's build needs."""
    _looked(config_settings, pip_brings_programs=True)
    return scikit_build.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return the packages of the index that an editable installation needs."""
    _looked(config_settings, pip_brings_programs=True)
    return scikit_build.get_requires_for_build_editable(config_settings)


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """Compile the package into a wheel; returns the wheel's name."""
    with _compilation(config_settings):
        return scikit_build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """Compile the package into a wheel that refers to the sources; returns the wheel's name."""
    with _compilation(config_settings):
        return scikit_build.build_editable(wheel_directory, config_settings, metadata_directory)
