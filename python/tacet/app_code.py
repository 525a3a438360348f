"""Digest of the code of an app, which members agree on and sites pin."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import os

__all__ = ["app_digest"]

# NVFLARE's signatures and certificates, which each submission makes again.
_LEFT_OUT = {".__nvfl_sig.json", ".__nvfl_submitter.crt"}


def app_digest(folder: str | os.PathLike[str]) -> str:
    """Return SHA-256 of an NVFLARE job's app, in hexadecimal digits: names and bytes of its files.

    Args:
        folder: the app of an exported job, with ``config`` and ``custom``. Files in which NVFLARE
            keeps the signatures of a submission are left out.

    Raises:
        InvalidArgumentError: the folder has something that is neither file nor folder, or no file.
    """
    root = Path(folder)
    digest = hashlib.sha256(b"tacet/1/nvflare app")
    count = 0
    for path in sorted(root.rglob("*"), key=lambda each: each.relative_to(root).as_posix()):
        if path.is_dir() and not path.is_symlink():
            continue
        if path.is_symlink() or not path.is_file():
            text = f"{path} is neither a file nor a folder"
            raise InvalidArgumentError(text)
        if path.name in _LEFT_OUT:
            continue
        for part in (path.relative_to(root).as_posix().encode(), path.read_bytes()):
            digest.update(len(part).to_bytes(8, "little") + part)
        count += 1
    if count == 0:
        text = f"{root} has no file: give the app's folder of an exported job"
        raise InvalidArgumentError(text)
    return digest.hexdigest()
