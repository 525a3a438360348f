"""Client of a site's member process, for an app inside another framework.

``tacet client run --app SOCKET`` holds the site's session, keys, journal and ledger. The app
carries that process's bytes to and from the federation's server, and trains when the member asks.
A bundle of bytes is sealed or signed by its sender, and means nothing to the app.
docs/formats/frameworks.md has the frames. `tacet.flower` and `tacet.nvflare` use this module.
"""

from __future__ import annotations

import json
import logging
import math
import os
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import FailedPreconditionError, InvalidArgumentError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["Ferry", "Reply", "Task", "agreed_tensors"]

_LOG = logging.getLogger("tacet")
_EXCHANGE, _TRAINED, _FAILED, _REQUESTS, _TRAIN, _ENDED = 1, 2, 3, 16, 17, 18
_HEAD = struct.Struct("<IB")  # bytes after the length, kind
_ATTEMPT = struct.Struct("<II")  # round, attempt
_TRAIN_HEAD = struct.Struct("<IIdI")  # round, attempt, clip norm, number of units
_COUNT = struct.Struct("<I")
_NO_UNITS = 0xFFFFFFFF
_MOST_BYTES = 1 << 31
_ANSWER_SECONDS = 600.0
_FLOATS = {"float16", "float32", "float64"}


@dataclass(frozen=True)
class Reply:
    """A member's frame for the federation's server.

    Attributes:
        bundle: the member's requests; may be empty.
        ended: the member has nothing more to ask.
    """

    bundle: bytes
    ended: bool = False


@dataclass(frozen=True)
class Task:
    """One training that the member asks for.

    Attributes:
        round: from 0.
        attempt: of the round, from 0.
        model: float32 of shape (d,), read-only.
        agreed: ``model.app`` of the agreement, a JSON object that all members signed.
        units: with unit record or person, the places of those that were drawn, below their number
            at this site; None with unit client. The draw is secret: keep it at the site.
        clip_norm: norm to which each unit's part is clipped, the agreed one less 2^-8 of it for
            rounding; None with unit client.
    """

    round: int
    attempt: int
    model: NDArray[np.float32]
    agreed: Mapping[str, Any]
    units: list[int] | None = None
    clip_norm: float | None = None

    @property
    def config(self) -> dict[str, Any]:
        """Agreed configuration of the training: ``config`` of ``model.app``."""
        return dict(self.agreed.get("config", {}))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as a new array for each agreed tensor, in their order and types.

        Raises:
            InvalidArgumentError: the agreed shapes do not have the model's number of values.
        """
        arrays, start = {}, 0
        for name, (shape, kind) in self._tensors().items():
            end = start + math.prod(shape)
            arrays[name] = self.model[start:end].reshape(shape).astype(kind)
            start = end
        return arrays

    def update(self, trained: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return trained tensors less the model, float32 of shape (d,).

        Args:
            trained: floating-point arrays with the agreed names and shapes, in any order.

        Raises:
            InvalidArgumentError: other names, shapes or types.
        """
        return self.vector(trained) - self.model

    def vector(self, tensors: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return tensors as float32 of shape (d,), such as the sum over units.

        Arguments and errors are those of `update`. A sum is passed unchanged: a trained model
        less the model would round each unit's part by more than `clip_norm` leaves room for.
        """
        agreed = self._tensors()
        if set(tensors) != set(agreed):
            text = f"the app returned the tensors {sorted(tensors)}, agreed are {list(agreed)}"
            raise InvalidArgumentError(text)
        parts = []
        for name, (shape, _) in agreed.items():
            array = np.asarray(tensors[name])
            if array.shape != shape:
                text = f"tensor {name!r} has the shape {array.shape}, agreed is {shape}"
                raise InvalidArgumentError(text)
            if not np.issubdtype(array.dtype, np.floating):
                text = (
                    f"tensor {name!r} is of type {array.dtype}: federate floating-point tensors, "
                    "and leave counters out"
                )
                raise InvalidArgumentError(text)
            parts.append(array.astype(np.float32).ravel())
        return np.concatenate(parts)

    def _tensors(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Return shape and type of each agreed tensor."""
        listed = self.agreed.get("tensors", [{"name": "0", "shape": [self.model.size]}])
        tensors = {
            str(each["name"]): (tuple(int(n) for n in each["shape"]), each.get("dtype", "float32"))
            for each in listed
        }
        count = sum(math.prod(shape) for shape, _ in tensors.values())
        if count != self.model.size or len(tensors) != len(listed):
            text = (
                f"the agreed tensors have {len(tensors)} names and {count} values, the agreed "
                f"model has {self.model.size}: write model.app with tacet.ferry.agreed_tensors"
            )
            raise InvalidArgumentError(text)
        kinds = {kind for _, kind in tensors.values()}
        if not kinds <= _FLOATS:
            text = f"the agreed tensors have the types {sorted(kinds)}, wanted {sorted(_FLOATS)}"
            raise InvalidArgumentError(text)
        return tensors


def agreed_tensors(model: Mapping[str, Any]) -> tuple[list[dict[str, Any]], NDArray[np.float32]]:
    """Return what the members agree on for a model: its tensors, and its initial values.

    The first goes into ``tensors`` of the agreed ``model.app``, the second into the file of
    ``tacet federation init --initial-model``.

    Args:
        model: floating-point arrays by name, such as a ``state_dict`` or Flower's ``ArrayRecord``
            as arrays.

    >>> tensors, initial = agreed_tensors({"w": np.ones((3, 2)), "b": np.zeros(2)})
    >>> tensors[0]
    {'name': 'w', 'shape': [3, 2], 'dtype': 'float64'}
    >>> initial.size
    8
    """
    arrays = {name: np.asarray(array) for name, array in model.items()}
    tensors = [
        {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
        for name, array in arrays.items()
    ]
    size = sum(array.size for array in arrays.values())
    task = Task(0, 0, np.zeros(size, np.float32), {"tensors": tensors})
    return tensors, task.vector(arrays)


class Ferry:
    """Connection of an app to its site's member process.

    Args:
        path: the socket of ``tacet client run --app``.
        wait_seconds: how long to try while no member listens there.

    Raises:
        UnavailableError: no member listens.
        FailedPreconditionError: the socket is not the member's: another user listens there.
    """

    def __init__(self, path: str | os.PathLike[str], *, wait_seconds: float = 10.0) -> None:
        self._path = Path(path)
        self._socket = self._connect(wait_seconds)
        self._socket.settimeout(_ANSWER_SECONDS)

    def _connect(self, wait_seconds: float) -> socket.socket:
        end = time.monotonic() + wait_seconds
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(str(self._path))
                self._check_peer(connection)
            except OSError as error:
                connection.close()
                if time.monotonic() >= end:
                    text = (
                        f"no member listens at {self._path} ({error.strerror}): start "
                        f"`tacet client run --app {self._path}` at this site"
                    )
                    raise UnavailableError(text) from None
                time.sleep(0.1)
            except FailedPreconditionError:
                connection.close()
                raise
            else:
                return connection

    def _check_peer(self, connection: socket.socket) -> None:
        """Refuse a listener who could not have been started by the folder's owner."""
        size = struct.calcsize("3i")
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        _, user, _ = struct.unpack("3i", credentials)
        owner = self._path.parent.stat().st_uid
        if user != owner:
            text = (
                f"user {user} listens at {self._path}, whose folder belongs to user {owner}: an "
                "update would go to somebody else's process"
            )
            raise FailedPreconditionError(text)

    def carry(self, answers: bytes, train: Callable[[Task], NDArray[np.float32]]) -> Reply:
        """Give the server's answers to the member, and train if it asks for that.

        Args:
            answers: bundle of the federation's server; empty for the first one.
            train: returns the update of a task. What it raises stays at this site: the log has it,
                and the member seals zeros, so that no refusal depends on data.

        Raises:
            UnavailableError: the member ended by an error, has another app, or broke the line.
        """
        kind, payload = self._ask(_EXCHANGE, answers)
        while kind == _TRAIN:
            kind, payload = self._ask(*_answer(payload, train))
        if kind == _REQUESTS:
            return Reply(payload)
        _check_end(payload)
        return Reply(b"", ended=True)

    def _ask(self, kind: int, payload: bytes) -> tuple[int, bytes]:
        """Send a frame; returns the frame that answers it."""
        if len(payload) >= _MOST_BYTES:
            text = f"a frame of {len(payload)} bytes is longer than {_MOST_BYTES - 1}"
            raise InvalidArgumentError(text)
        try:
            self._socket.sendall(_HEAD.pack(len(payload) + 1, kind))
            self._socket.sendall(payload)
            length, answer = _HEAD.unpack(self._receive(_HEAD.size))
            if not 1 <= length <= _MOST_BYTES or answer not in (_REQUESTS, _TRAIN, _ENDED):
                text = f"the member at {self._path} sent no frame of this release of tacet"
                raise UnavailableError(text)
            return answer, self._receive(length - 1)
        except OSError as error:
            text = f"the line to the member at {self._path} broke: {error}"
            raise UnavailableError(text) from None

    def _receive(self, count: int) -> bytes:
        content = bytearray()
        while len(content) < count:
            part = self._socket.recv(min(count - len(content), 1 << 20))
            if not part:
                raise ConnectionResetError(0, "closed by the member")
            content += part
        return bytes(content)

    def close(self) -> None:
        """Close the connection; a training that is not answered counts as failed."""
        self._socket.close()

    def __enter__(self) -> Ferry:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _answer(payload: bytes, train: Callable[[Task], NDArray[np.float32]]) -> tuple[int, bytes]:
    """Train; returns the frame with the update, or that of a failure, which has no text."""
    attempt = payload[: _ATTEMPT.size]
    try:
        task = _task_of(payload)
        update = np.ascontiguousarray(train(task), dtype="<f4")
        if update.shape != task.model.shape:
            text = f"the update has the shape {update.shape}, wanted {task.model.shape}"
            raise InvalidArgumentError(text)
        return _TRAINED, attempt + update.tobytes()
    except KeyboardInterrupt:
        raise
    except BaseException:  # also sys.exit(), which may depend on data
        _LOG.exception(
            "tacet: the training failed. Zeros are sealed in the update's place, and the attempt "
            "is charged: correct the app"
        )
        return _FAILED, attempt


def _task_of(payload: bytes) -> Task:
    """Read a frame `train`."""
    view = memoryview(payload)
    round_, attempt, clip_norm, count = _TRAIN_HEAD.unpack_from(view)
    start = _TRAIN_HEAD.size
    units: list[int] | None = None
    if count != _NO_UNITS:
        units = np.frombuffer(view, dtype="<u4", count=count, offset=start).tolist()
        start += count * _COUNT.size
    (length,) = _COUNT.unpack_from(view, start)
    start += _COUNT.size
    agreed = json.loads(bytes(view[start : start + length]) or b"{}")
    if not isinstance(agreed, dict):
        text = f"the agreed model.app is of type {type(agreed).__name__}: agree on an object"
        raise InvalidArgumentError(text)
    model = np.frombuffer(view[start + length :], dtype="<f4")
    return Task(round_, attempt, model, agreed, units, None if units is None else clip_norm)


def _check_end(payload: bytes) -> None:
    """Raise if the member ended by an error, or is busy with another app."""
    try:
        outcome = json.loads(payload)
    except ValueError:
        outcome = {"error": "without a reason"}
    if isinstance(outcome, dict) and "error" in outcome:
        text = f"the member does not take part: {outcome['error']}"
        raise UnavailableError(text)
