"""Outcome of a round inside another framework: all that a member needs to decrypt its sum.

`docs/formats/frameworks.md` gives the bytes. The server stores outcomes and cannot decrypt them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .errors import DataLossError
from .secagg import AttemptId

__all__ = ["Outcome"]

_MAGIC = b"TCT8\x02\x00"
_HEADER = struct.Struct("<6sII32sII")
_LENGTH = struct.Struct("<I")
_MAX_MESSAGES = 64  # committees have at most 20 seats
_REMEDY = "have the server send it again"


@dataclass(frozen=True)
class Outcome:
    """A closed round with its votes and unmask shares."""

    attempt: AttemptId
    closed_round: bytes
    votes: tuple[bytes, ...]
    shares: tuple[bytes, ...]

    def to_bytes(self) -> bytes:
        """Return the outcome in the form in which it travels."""
        parts = [
            _HEADER.pack(
                _MAGIC,
                self.attempt.round,
                self.attempt.attempt,
                self.attempt.model_digest,
                len(self.votes),
                len(self.shares),
            )
        ]
        for message in (self.closed_round, *self.votes, *self.shares):
            parts += [_LENGTH.pack(len(message)), message]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, content: bytes) -> Outcome:
        """Read an outcome.

        Raises:
            DataLossError: the bytes are not an outcome.
        """
        if len(content) < _HEADER.size:
            text = f"an outcome of {len(content)} bytes is cut short: {_REMEDY}"
            raise DataLossError(text)
        magic, round_number, number, digest, votes, shares = _HEADER.unpack_from(content)
        if magic != _MAGIC:
            text = f"the bytes are not an outcome of version 2: {_REMEDY}"
            raise DataLossError(text)
        if votes > _MAX_MESSAGES or shares > _MAX_MESSAGES:
            text = (
                f"an outcome has {votes} votes and {shares} shares, {_MAX_MESSAGES} are possible: "
                f"{_REMEDY}"
            )
            raise DataLossError(text)
        begin = _HEADER.size
        messages = []
        for _ in range(1 + votes + shares):
            if len(content) - begin < _LENGTH.size:
                text = f"an outcome is cut short: {_REMEDY}"
                raise DataLossError(text)
            (length,) = _LENGTH.unpack_from(content, begin)
            begin += _LENGTH.size
            if length > len(content) - begin:
                text = f"an outcome is cut short: {_REMEDY}"
                raise DataLossError(text)
            messages.append(content[begin : begin + length])
            begin += length
        if begin != len(content):
            text = f"{len(content) - begin} bytes follow an outcome: {_REMEDY}"
            raise DataLossError(text)
        return cls(
            AttemptId(round_number, number, model_digest=digest),
            messages[0],
            tuple(messages[1 : 1 + votes]),
            tuple(messages[1 + votes :]),
        )
