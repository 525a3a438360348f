"""Programs of the wheel as console commands: ``tacet`` and ``tacet-server``.

They are compiled. A command replaces its process by the program, so signals, exit codes and the
terminal are the program's. Nothing of the package ``tacet`` is imported for it.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

__all__ = ["program_path", "tacet", "tacet_server"]


def program_path(name: str) -> str:
    """Return the path of the program ``name``.

    Raises:
        FileNotFoundError: this build of the package has no such program.
    """
    for folder in __path__:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    text = (
        f"this build of the package has no {name}: libraries for it were missing at compilation. "
        "Run `tools/setup.sh demo server python` in a copy of the repository, and install the "
        "package again"
    )
    raise FileNotFoundError(text)


def _become(name: str) -> NoReturn:
    try:
        path = program_path(name)
    except FileNotFoundError as error:
        sys.exit(f"{name}: {error}")
    os.execv(path, [name, *sys.argv[1:]])


def tacet() -> NoReturn:
    """Become the program ``tacet``."""
    _become("tacet")


def tacet_server() -> NoReturn:
    """Become the program ``tacet-server``."""
    _become("tacet-server")
