"""A member's socket that speaks the frames of docs/formats/frameworks.md, without a federation."""

from __future__ import annotations

import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

EXCHANGE, TRAINED, FAILED, REQUESTS, TRAIN, ENDED = 1, 2, 3, 16, 17, 18
NO_UNITS = 0xFFFFFFFF


def frame(kind: int, payload: bytes = b"") -> bytes:
    return struct.pack("<IB", len(payload) + 1, kind) + payload


def train_frame(
    model: np.ndarray,
    *,
    number: int = 0,
    attempt: int = 0,
    agreed: object = None,
    units: list[int] | None = None,
) -> bytes:
    """The frame `train` of round `number`; `agreed` is JSON, or bytes that pretend to be."""
    text = agreed if isinstance(agreed, bytes) else json.dumps(agreed or {}).encode()
    drawn = units or []
    return frame(
        TRAIN,
        struct.pack("<IId", number, attempt, float("nan") if units is None else 1.0)
        + struct.pack("<I", NO_UNITS if units is None else len(drawn))
        + struct.pack(f"<{len(drawn)}I", *drawn)
        + struct.pack("<I", len(text))
        + text
        + model.astype("<f4").tobytes(),
    )


@dataclass
class FakeMember:
    """Sends the frames of `script` in turn, each as the answer to one frame of the app.

    None in the script breaks the line. After the script every frame is answered by `ended`.
    """

    path: Path
    script: list[bytes | None]
    got: list[tuple[int, bytes]] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> FakeMember:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        while True:
            head = connection.recv(5, socket.MSG_WAITALL)
            if len(head) < 5:
                return
            length, kind = struct.unpack("<IB", head)
            self.got.append((kind, connection.recv(length - 1, socket.MSG_WAITALL)))
            answer = self.script.pop(0) if self.script else frame(ENDED, b"{}")
            if answer is None:
                return
            connection.sendall(answer)

    def updates(self) -> list[np.ndarray]:
        """The updates that the app gave."""
        return [np.frombuffer(p[8:], dtype="<f4") for kind, p in self.got if kind == TRAINED]

    def failures(self) -> list[bytes]:
        """The whole payloads of the app's failures."""
        return [payload for kind, payload in self.got if kind == FAILED]
