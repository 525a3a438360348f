"""Signed records of a run's privacy guarantee.

They are those of ``tacet audit``. ``write`` signs what a run did and which guarantee follows from
it; ``verify`` computes every figure of a record again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import programs
from .arguments import path_of, text_of
from .run_page import folder_of

if TYPE_CHECKING:
    import os

    from .simulation import Run

__all__ = ["Audit", "Verification", "verify", "write"]


@dataclass(frozen=True)
class Audit:
    """A record that was written.

    Attributes:
        path: of the record.
        model_card: path of the model card.
        signer: fingerprint of the key that signed it.
        facts: what the record says of the run (docs/formats/audit.md, ``--json``).
    """

    path: Path
    model_card: Path
    signer: str
    facts: dict[str, Any]


@dataclass(frozen=True)
class Verification:
    """A record whose figures all follow from its facts.

    Attributes:
        signer: fingerprint of the key that signed it.
        pinned: whether ``signer`` was asked for. If not, anyone could have signed.
        model: which parameters of the run the given model is; None without one.
        notes: what was not checked, and why.
        facts: what the record says of the run (docs/formats/audit.md, ``--json``).
    """

    signer: str
    pinned: bool
    model: str | None
    notes: list[str]
    facts: dict[str, Any]


def write(
    run: Run | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
) -> Audit:
    """Write the signed record of a run, and a model card next to it.

    Args:
        run: the run or its directory.
        out: path of the record. None: ``audit.json`` in the run's directory.
        key: file with the Ed25519 seed to sign with. None: the run's own key.

    Raises:
        ProgramError: the directory holds no run, or a run that contradicts itself.
        ValueError: nothing of the run was kept.
    """
    words: list[object] = [] if out is None else ["--out", path_of("out", out)]
    words += [] if key is None else ["--key", path_of("key", key)]
    told = programs.call_json("audit", "write", *words, "--json", "--", folder_of(run))
    return Audit(Path(told.pop("audit")), Path(told.pop("model_card")), told.pop("signer"), told)


def verify(
    file: str | os.PathLike[str],
    *,
    signer: str | None = None,
    model: str | os.PathLike[str] | None = None,
    digest_key: str | os.PathLike[str] | None = None,
) -> Verification:
    """Compute every figure of a record again, offline.

    Args:
        file: the record.
        signer: fingerprint of the key that must have signed it.
        model: file of parameters, which must be this run's; needs ``digest_key``.
        digest_key: file with the key of the model's digest, ``digest-EPOCH.key`` of the run.

    Raises:
        ProgramError: the record is not valid; the text says which check failed.
    """
    words: list[object] = [] if signer is None else ["--signer", text_of("signer", signer)]
    words += [] if model is None else ["--model", path_of("model", model)]
    words += [] if digest_key is None else ["--digest-key", path_of("digest_key", digest_key)]
    told = programs.call_json("audit", "verify", *words, "--json", "--", path_of("file", file))
    return Verification(
        told["signer"], told["pinned"], told["model"], told["notes"], told["run"]
    )
