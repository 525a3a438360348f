"""Enrolment of a site, or of the server, in a federation: its request, and the invitation.

Each party makes its own keys, and sends the coordinator its request. The coordinator enrols the
parties (`tacet.Coordinator`) and sends each an invitation. These are ``tacet client request`` and
``tacet client join``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import programs
from .arguments import path_of, text_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["Request", "join", "request"]


@dataclass(frozen=True)
class Request:
    """A party's request.

    Attributes:
        name: of the party.
        path: file to send to the coordinator.
        fingerprint: of the request. Tell the coordinator by another way than the file goes.
    """

    name: str
    path: Path
    fingerprint: str


def request(
    home: str | os.PathLike[str],
    *,
    name: str,
    server_hosts: Sequence[str] = (),
    key_file: str | os.PathLike[str] | None = None,
    passphrase_file: str | os.PathLike[str] | None = None,
) -> Request:
    """Make the keys of a party in ``home``, and its request.

    Args:
        home: folder of the party, which is made. A home with the same name and keys that has not
            joined yields the same request.
        name: of the party: lower-case letters, digits, hyphens.
        server_hosts: makes this the request of the server: DNS names or addresses at which members
            reach it.
        key_file: file of random bytes that encrypts the keys; it is made when it is not there.
        passphrase_file: file whose first line is a passphrase that encrypts them instead. Without
            either the terminal asks.

    Raises:
        ProgramError: the name is none, or the home is another party's.
    """
    hosts = [server_hosts] if isinstance(server_hosts, str) else server_hosts
    words: list[object] = ["--home", path_of("home", home), "--name", text_of("name", name)]
    for host in hosts:
        words += ["--server-host", text_of("server_hosts", host)]
    told = programs.call_json(
        "client", "request", *words, *programs.unlocking(key_file, passphrase_file), "--json"
    )
    return Request(told["name"], Path(told["request"]), told["fingerprint"])


def join(
    home: str | os.PathLike[str],
    invitation: str | os.PathLike[str],
    *,
    coordinator: str | None = None,
    accept: bool = False,
    accept_weaker: bool = False,
    key_file: str | os.PathLike[str] | None = None,
    passphrase_file: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Check an invitation and accept it.

    Args:
        home: folder of the party.
        invitation: file that the coordinator sent.
        coordinator: fingerprint of the coordinator, told by another way; needed the first time.
        accept: accept a later epoch that changes members, server or terms, unless a term protects
            less.
        accept_weaker: accept terms that protect less, too.
        key_file: file that unlocks the keys.
        passphrase_file: file whose first line unlocks them. Without either the terminal asks.

    Returns:
        The agreement, its members and its guarantee (docs/formats/enrolment.md, ``client show``).

    Raises:
        ProgramError: the invitation is damaged, another party's or another coordinator's, or it
            changes what was accepted before. Nothing was changed then.
    """
    folder = path_of("home", home)
    words: list[object] = ["--home", folder]
    words += [] if coordinator is None else ["--coordinator", text_of("coordinator", coordinator)]
    words += ["--accept"] if accept else []
    words += ["--accept-weaker"] if accept_weaker else []
    words += [*programs.unlocking(key_file, passphrase_file), "--"]
    programs.call("client", "join", *words, path_of("invitation", invitation))
    agreement: dict[str, Any] = programs.call_json("client", "show", "--home", folder, "--json")
    return agreement
