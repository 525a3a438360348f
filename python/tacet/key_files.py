"""Files with a member's keys, encrypted under a key file or a passphrase.

`docs/formats/keys.md` gives the bytes. A file has mode 0600; one that others can read is refused.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from . import _core
from .durable_file import create_file
from .errors import AlreadyExistsError, FailedPreconditionError, NotFoundError
from .secagg import EpochKey, MemberKey

__all__ = [
    "make_key_file",
    "read_epoch_key",
    "read_member_key",
    "write_epoch_key",
    "write_member_key",
]

_MAX_BYTES = 1 << 16
_MIN_PASSPHRASE_BYTES = 12
_MEMBER = "member's keys"
_EPOCH = "epoch key"

StrPath = str | os.PathLike[str]


def _write(path: Path, content: bytes) -> None:
    """Make a file of mode 0600, durable when this returns; a key is never written over."""
    try:
        create_file(path, content)
    except FileExistsError:
        text = f"{path} is there already, and a key is never written over: name another file"
        raise AlreadyExistsError(text) from None


def _read(path: Path) -> bytes:
    """Content of a file that only its owner may read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        text = f"there is no key file {path}: name one that is there, or run Site.create"
        raise NotFoundError(text) from None
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
            text = f"{path} is not a file of at most {_MAX_BYTES} bytes: name a key file"
            raise FailedPreconditionError(text)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            text = f"others may read or replace {path}: run `chmod 600` and own the file"
            raise FailedPreconditionError(text)
        return file.read(_MAX_BYTES)


def make_key_file(path: StrPath) -> None:
    """Write 32 random bytes, under which a site's keys are encrypted at rest.

    Keep the file in the system's secret store, outside the site's folder and its backups.

    Raises:
        AlreadyExistsError: there is such a file.
    """
    _write(Path(path), os.urandom(32))


def write_member_key(path: StrPath, key: MemberKey, *, key_file: StrPath) -> None:
    """Write a member's keys, encrypted under the content of ``key_file``."""
    secret = key.expose_secret()
    try:
        _write(Path(path), _core.lock_secret(secret, _MEMBER, key=_read(Path(key_file))))
    finally:
        secret[:] = bytes(len(secret))


def read_member_key(path: StrPath, *, key_file: StrPath) -> MemberKey:
    """Return the keys that `write_member_key` wrote.

    Raises:
        TacetError: another key file, or content that was altered.
    """
    secret = _core.unlock_secret(_read(Path(path)), _MEMBER, key=_read(Path(key_file)))
    try:
        return MemberKey.from_secret(secret)
    finally:
        secret[:] = bytes(len(secret))


def _unlocker(passphrase: str | None, key_file: StrPath | None) -> dict[str, bytes]:
    if (passphrase is None) == (key_file is None):
        text = "give either a passphrase or a key file, and not both"
        raise ValueError(text)
    if passphrase is None:
        assert key_file is not None
        return {"key": _read(Path(key_file))}
    if len(passphrase.encode()) < _MIN_PASSPHRASE_BYTES:
        text = (
            f"the passphrase has {len(passphrase.encode())} bytes: choose one of "
            f"{_MIN_PASSPHRASE_BYTES} or more"
        )
        raise ValueError(text)
    return {"passphrase": passphrase.encode()}


def write_epoch_key(
    path: StrPath,
    key: EpochKey,
    *,
    passphrase: str | None = None,
    key_file: StrPath | None = None,
) -> None:
    """Write the epoch key for the other members, encrypted under a passphrase or a key file.

    Send the file and the passphrase through two channels; the server may read neither.
    """
    secret = key.expose_secret()
    try:
        _write(Path(path), _core.lock_secret(secret, _EPOCH, **_unlocker(passphrase, key_file)))
    finally:
        secret[:] = bytes(len(secret))


def read_epoch_key(
    path: StrPath, *, passphrase: str | None = None, key_file: StrPath | None = None
) -> EpochKey:
    """Return the key that `write_epoch_key` wrote."""
    secret = _core.unlock_secret(_read(Path(path)), _EPOCH, **_unlocker(passphrase, key_file))
    try:
        return EpochKey.from_secret(secret)
    finally:
        secret[:] = bytes(len(secret))
