"""Coordinator of a federation: the member that proposes its terms and enrols its parties.

It is ``tacet federation``, in a folder that stays with that member and never reaches the server.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import programs
from .arguments import path_of, text_of, whole_number_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Coordinator", "Epoch"]

_DAYS_OF_AUTHORITY, _DAYS_OF_PARTY = 3650, 365


@dataclass(frozen=True)
class Epoch:
    """Files of an epoch, for the coordinator to send.

    Attributes:
        number: of the epoch, from 0.
        coordinator: the coordinator's fingerprint, which parties are told by another way.
        invitations: file for each party, the server among them, by its name.
        kits: files with instructions for the sites.
        facts: everything that the program prints (docs/formats/enrolment.md).
    """

    number: int
    coordinator: str
    invitations: dict[str, Path]
    kits: list[Path]
    facts: dict[str, Any]


class Coordinator:
    """The coordinator's folder of a federation that was founded.

    Args:
        folder: the coordinator's folder.
        key_file: file of random bytes that unlocks the coordinator's keys.
        passphrase_file: file whose first line is their passphrase. Without either the terminal
            asks.

    Raises:
        ProgramError: there is no federation in the folder.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        key_file: str | os.PathLike[str] | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
    ) -> None:
        self.folder = path_of("folder", folder)
        self._unlocking = programs.unlocking(key_file, passphrase_file)
        self.federation: str = self.show()["federation"]

    @classmethod
    def found(
        cls,
        folder: str | os.PathLike[str],
        *,
        name: str,
        config: str | os.PathLike[str] | None = None,
        query: str | os.PathLike[str] | None = None,
        initial_model: NDArray[np.float32] | str | os.PathLike[str] | None = None,
        members: int = 0,
        days: int = _DAYS_OF_AUTHORITY,
        key_file: str | os.PathLike[str] | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
    ) -> Coordinator:
        """Found a federation: its terms, certificate authority and first epoch key.

        Args:
            folder: new folder of the coordinator.
            name: of the federation: lower-case letters, digits, hyphens.
            config: TOML file with the terms (docs/formats/configuration.md).
            query: query file instead: the federation answers its questions once.
            initial_model: with ``model.name = "external"``, parameters before the first round:
                float32 of shape (d,), or their file.
            members: planned number of members, for the check of the plan; 0: as many as the cohort.
            days: for which the authority's certificate is valid.
            key_file: file of random bytes that encrypts the keys; it is made when it is not there.
            passphrase_file: file whose first line is a passphrase that encrypts them instead.
                Without either the terminal asks.

        Raises:
            ProgramError: the terms cannot be planned, or the folder is another federation's.
        """
        where = path_of("folder", folder)
        with _terms(config, query, initial_model) as terms:
            programs.call_json(
                "federation", "init", "--folder", where, "--name", text_of("name", name), *terms,
                "--members", whole_number_of("members", members),
                "--days", whole_number_of("days", days, least=1),
                *programs.unlocking(key_file, passphrase_file), "--json",
            )  # fmt: skip
        return cls(where, key_file=key_file, passphrase_file=passphrase_file)

    def show(self) -> dict[str, Any]:
        """Return the agreement, its members and its guarantee (docs/formats/enrolment.md)."""
        shown: dict[str, Any] = programs.call_json(
            "federation", "show", "--folder", self.folder, "--json"
        )
        return shown

    def enrol(
        self,
        name: str,
        request: str | os.PathLike[str],
        *,
        fingerprint: str | None = None,
        server: bool = False,
        days: int = _DAYS_OF_PARTY,
    ) -> None:
        """Enrol a party, or renew its keys.

        Args:
            name: of the party.
            request: file that it sent.
            fingerprint: of the request, told by another way than the file came. None: the request
                renews the keys of a party that is enrolled, which signed it.
            server: whether the party is to be the server.
            days: for which its certificate is valid.

        Raises:
            ProgramError: the request is not this party's, has another fingerprint, or asks for
                another role. Nothing was enrolled.
        """
        words: list[object] = ["--folder", self.folder, "--request", path_of("request", request)]
        if fingerprint is not None:
            words += ["--fingerprint", text_of("fingerprint", fingerprint)]
        words += ["--server", name] if server else []
        words += ["--days", whole_number_of("days", days, least=1), *self._unlocking, "--"]
        programs.call("federation", "enrol", *words, text_of("name", name))

    def seal(self, *, committee: Sequence[str] = (), server: str = "") -> Epoch:
        """Sign the manifest of the parties enrolled, and write their invitations.

        Args:
            committee: names of the members on the committee. Empty: those enrolled first.
            server: HOST:PORT of the server, for the sites' kits. Empty: its first host, port 7443.

        Raises:
            ProgramError: a party is missing, or the agreement cannot be planned for these members.
        """
        words: list[object] = ["--folder", self.folder, *_each("--committee", committee)]
        words += ["--server", server] if server else []
        return _epoch(
            programs.call_json("federation", "seal-key", *words, *self._unlocking, "--json")
        )

    def rotate(
        self,
        *,
        config: str | os.PathLike[str] | None = None,
        query: str | os.PathLike[str] | None = None,
        initial_model: str | os.PathLike[str] | None = None,
        remove: Sequence[str] = (),
        committee: Sequence[str] = (),
        server: str = "",
        keep_exchange_keys: bool = False,
    ) -> Epoch:
        """Begin an epoch with fresh keys, and delete the keys of earlier ones.

        Args:
            config: terms of the federation's next training. None: the present one continues.
            query: query file of its next query.
            initial_model: file of the parameters before its first round. A call that ended before
                its work is continued by the same call, with the same file.
            remove: names of sites that leave. Sites enrolled since the last epoch come.
            committee: names of the members on the committee. Empty: those enrolled first.
            server: HOST:PORT of the server, for the sites' kits. Empty: its first host, port 7443.
            keep_exchange_keys: begin although members of the committee have not renewed their keys.

        Raises:
            ProgramError: the epoch cannot begin; the folder is as it was.
        """
        words: list[object] = ["--folder", self.folder, *_each("--remove", remove)]
        words += _each("--committee", committee)
        words += ["--server", server] if server else []
        words += ["--keep-exchange-keys"] if keep_exchange_keys else []
        words += [*self._unlocking, "--json"]
        with _terms(config, query, initial_model) as terms:
            return _epoch(programs.call_json("federation", "rotate", *words, *terms))

    def __repr__(self) -> str:
        return f"<Coordinator of {self.federation}, {self.folder}>"


def _each(flag: str, names: Sequence[str]) -> list[object]:
    listed = [names] if isinstance(names, str) else names
    return [word for name in listed for word in (flag, text_of(flag[2:], name))]


@contextlib.contextmanager
def _terms(config: Any, query: Any, initial_model: Any) -> Iterator[list[object]]:
    """Return flags for a training's or query's terms; a context, which keeps a file for them."""
    words: list[object] = [] if config is None else ["--config", path_of("config", config)]
    words += [] if query is None else ["--query", path_of("query", query)]
    if not hasattr(initial_model, "dtype"):
        if initial_model is not None:
            words += ["--initial-model", path_of("initial_model", initial_model)]
        yield words
        return
    if initial_model.dtype.name != "float32" or initial_model.ndim != 1:
        text = (
            f"initial_model is of type {initial_model.dtype} and shape {initial_model.shape}: "
            "wanted float32 of shape (d,)"
        )
        raise ValueError(text)
    with tempfile.TemporaryDirectory(prefix="tacet-") as folder:
        path = Path(folder) / "initial-model.f32"
        path.write_bytes(initial_model.astype("<f4").tobytes())
        yield [*words, "--initial-model", path]


def _epoch(told: dict[str, Any]) -> Epoch:
    return Epoch(
        number=told["epoch"],
        coordinator=told["coordinator"],
        invitations={one["name"]: Path(one["file"]) for one in told["invitations"]},
        kits=[Path(kit) for kit in told["kits"]],
        facts=told,
    )
