"""Requests of a relay to a site, and the site's answers, as fields that any framework carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import FailedPreconditionError, TacetError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .site import Site

__all__ = [
    "APPLY",
    "SEAL",
    "UNMASK",
    "VOTE",
    "Request",
    "answer",
    "byte_strings_of",
    "field_of",
    "receive",
    "reply_fields",
]

SEAL, VOTE, UNMASK, APPLY = "seal", "vote", "unmask", "apply"
_REMEDY = "use one release of tacet at the server and the clients"
_RESULTS = {SEAL: "upload", VOTE: "vote", UNMASK: "share"}


def field_of(fields: Mapping[str, Any], name: str, kind: type) -> Any:
    """Value of a field of the wanted type; FailedPreconditionError when there is none."""
    value = fields.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        text = f'a message has no field "{name}" of type {kind.__name__}: {_REMEDY}'
        raise FailedPreconditionError(text)
    return value


def byte_strings_of(fields: Mapping[str, Any], name: str) -> list[bytes]:
    """Byte strings of a field that lists them."""
    values = field_of(fields, name, list)
    if not all(isinstance(value, bytes) for value in values):
        text = f'the field "{name}" of a message does not hold bytes: {_REMEDY}'
        raise FailedPreconditionError(text)
    return list(values)


@dataclass(frozen=True)
class Request:
    """A request that the site has checked.

    Attributes:
        stage: seal, vote, unmask or apply.
        attempt: number of the attempt at the present round.
        refusal: why the site refused an outcome of the stage apply, for its own log.
    """

    stage: str
    attempt: int
    refusal: TacetError | None = None


def receive(site: Site, fields: Mapping[str, Any]) -> Request:
    """Check a request, and apply the outcomes that it brings.

    A refused outcome of the stage apply is not raised: `answer` then tells the server the round and
    the model at which the site stays, so that the server knows a refusal from a lost answer.

    Raises:
        TacetError: the server runs other terms or is at another round, or an outcome is refused.
    """
    if field_of(fields, "terms", str) != site.terms.digest:
        text = (
            "the server runs other terms than those that this site has accepted: give the server "
            "the same file of terms, or let the site join them in a new folder"
        )
        raise FailedPreconditionError(text)
    stage = field_of(fields, "stage", str)
    if stage not in (SEAL, VOTE, UNMASK, APPLY):
        text = f"there is no stage {stage!r}: {_REMEDY}"
        raise FailedPreconditionError(text)
    attempt = int(field_of(fields, "attempt", int))
    outcomes = byte_strings_of(fields, "outcomes")
    try:
        rounds = site.apply(outcomes)
    except TacetError as error:
        if stage != APPLY:
            raise
        return Request(stage, attempt, refusal=error)
    if stage != APPLY and rounds != field_of(fields, "round", int):
        text = (
            f"the server is at round {fields['round']}, this site at {rounds}: keep the server's "
            "state folder and the site's folder, and restore neither from a backup"
        )
        raise FailedPreconditionError(text)
    return Request(stage, attempt)


def reply_fields(site: Site, **result: bytes) -> dict[str, Any]:
    """Fields of the site's answer with its result."""
    return {
        "member": site.member,
        "round": site.round,
        "model": site.model_digest,
        **result,
    }


def answer(site: Site, request: Request, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request of the stages vote, unmask and apply.

    Raises:
        TacetError: the seat refuses.
    """
    if request.stage == VOTE:
        vote = site.vote(
            request.attempt,
            field_of(fields, "closed_round", bytes),
            field_of(fields, "roster", bytes),
            acknowledged=field_of(fields, "acknowledged", bool),
        )
        return reply_fields(site, vote=vote)
    if request.stage == UNMASK:
        share = site.unmask(request.attempt, byte_strings_of(fields, "votes"))
        return reply_fields(site, share=share)
    if request.stage == APPLY:
        return reply_fields(site)
    text = f"a request of the stage {request.stage!r} is not answered here: {_REMEDY}"
    raise FailedPreconditionError(text)


def check_reply(fields: Mapping[str, Any], stage: str) -> None:
    """Raise FailedPreconditionError unless a reply is that of a site."""
    result = [_RESULTS[stage]] if stage in _RESULTS else []
    if set(fields) != {"member", "round", "model", *result}:
        text = (
            "its answer is not a sealed one: the filter or mod of tacet is missing at this client, "
            "add it there"
        )
        raise FailedPreconditionError(text)
    for name, kind in (("member", int), ("round", int), ("model", bytes)):
        field_of(fields, name, kind)
    for name in result:
        field_of(fields, name, bytes)
