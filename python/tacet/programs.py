"""Calls of the bundled program ``tacet``, whose JSON they return.

A figure is computed once, by the program. Python passes arguments and reads what it prints.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tacet_programs import program_path

from .arguments import path_of
from .errors import FailedPreconditionError, ProgramError

if TYPE_CHECKING:
    import os

__all__ = ["call", "call_json", "path_of_program", "unlocking"]


def path_of_program(name: str) -> str:
    """Return the path of a bundled program.

    Raises:
        FailedPreconditionError: this build of the package has none.
    """
    try:
        return program_path(name)
    except FileNotFoundError as error:
        raise FailedPreconditionError(str(error)) from None


def call(*words: object) -> str:
    """Run ``tacet`` with these words, and return what it prints.

    Raises:
        ProgramError: it failed; the text is the program's.
    """
    command = [path_of_program("tacet"), *map(str, words)]
    # A question would be captured, too: the program refuses what nobody can answer. It asks for a
    # passphrase at the terminal itself.
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise ProgramError(error_text(done.stderr, done.returncode))
    return done.stdout.decode("utf-8", "surrogateescape")


def call_json(*words: object) -> Any:
    """Run ``tacet`` with these words, ``--json`` among them, and return the value it prints."""
    return json.loads(call(*words))


def error_text(printed: bytes, code: int) -> str:
    r"""Return the last line of a program's errors, without the program's name.

    >>> error_text(b"tacet: there is no run in /none\n", 1)
    'there is no run in /none'
    >>> error_text(b"", -9)
    'the program ended with code -9'
    """
    text = printed.decode("utf-8", "replace").strip()
    for name in ("tacet: ", "tacet-server: "):
        start = text.rfind("\n" + name) + 1
        if text.startswith(name, start):
            return text[start + len(name) :]
    return text or f"the program ended with code {code}"


def unlocking(
    key_file: str | os.PathLike[str] | None, passphrase_file: str | os.PathLike[str] | None
) -> list[str]:
    """Return the program's flags that unlock keys; without a file the terminal asks."""
    flags = []
    if key_file is not None:
        flags += ["--key-file", str(path_of("key_file", key_file))]
    if passphrase_file is not None:
        flags += ["--passphrase-file", str(path_of("passphrase_file", passphrase_file))]
    return flags
