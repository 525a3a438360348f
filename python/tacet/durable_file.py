"""Files that are written whole and durable, or not at all."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["create_file", "replace_file"]


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file by one with this content, durable when it returns."""
    name = _written(path.parent, content)
    try:
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    _sync(path.parent)


def create_file(path: Path, content: bytes) -> None:
    """Make a file of mode 0600 with this content, durable when it returns.

    Raises:
        FileExistsError: there is one; it is unchanged.
    """
    name = _written(path.parent, content)
    try:
        os.link(name, path)  # unlike a rename, it never replaces a file
    finally:
        os.unlink(name)
    _sync(path.parent)


def _written(folder: Path, content: bytes) -> str:
    """Name of a new file in the folder, which holds the content durably."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name)
        raise
    return name


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
