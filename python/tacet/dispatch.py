"""Server side of a federation inside another framework: which node gets which bundle next.

The framework's server hosts `tacet.RelayServer`, and its nodes are return addresses. A framework's
nodes only answer, so a node that has nothing to carry is asked again after a while.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Protocol

from .arguments import path_of
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .ferry import Reply

__all__ = ["Dispatch", "Server", "server_home"]


def server_home(home: str | os.PathLike[str] | None) -> str:
    """Return the server's folder: ``home``, or the environment's ``TACET_SERVER_HOME``."""
    found = home if home is not None else os.environ.get("TACET_SERVER_HOME")
    if not found:
        text = "the server's folder is not named: give home, or set TACET_SERVER_HOME"
        raise InvalidArgumentError(text)
    return str(path_of("home", found))


class Server(Protocol):
    """The part of `tacet.RelayServer` that is used."""

    @property
    def rounds(self) -> int:
        """Agreed number of rounds."""

    @property
    def done(self) -> bool:
        """No further attempt will begin."""

    def exchange(self, bundles: Mapping[str, bytes], wait_seconds: float) -> dict[str, bytes]:
        """Take nodes' requests; returns answers that are ready."""


class Dispatch:
    """Bundles on their way to nodes and back. A node has one message on its way at a time.

    Args:
        server: the federation's server.
        rounds: rounds that the framework's app names; None: the agreed ones.
        retry_seconds: pause before a node is asked again whose answer was lost.
        silence_seconds: after that time without an answer for it, a node is asked again.
        linger_seconds: how long the server waits after the last round for a reply of nodes that
            have not ended, before it leaves them. It is more than ``silence_seconds``, so that a
            node whose last answer was lost is asked once more.

    Raises:
        InvalidArgumentError: the app names another number of rounds than the members have agreed.
    """

    def __init__(
        self,
        server: Server,
        *,
        rounds: int | None = None,
        retry_seconds: float = 2.0,
        silence_seconds: float = 60.0,
        linger_seconds: float = 180.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if rounds is not None and rounds != server.rounds:
            text = (
                f"num_rounds is {rounds}, the members have agreed on {server.rounds}: give that "
                "number, or none"
            )
            raise InvalidArgumentError(text)
        self._server = server
        self._retry_seconds = retry_seconds
        self._silence_seconds = silence_seconds
        self._linger_seconds = linger_seconds
        self._clock = clock
        self._requests: dict[str, bytes] = {}  # of nodes, for the server
        self._answers: dict[str, list[bytes]] = {}  # of the server, for nodes
        self._on_way: set[str] = set()
        self._next: dict[str, float] = {}  # when a node is asked without an answer for it
        self._ended: set[str] = set()
        self._nodes: set[str] = set()
        self._last_reply = clock()

    def replied(self, node: str, reply: Reply) -> None:
        """Take a node's reply."""
        self._last_reply = self._clock()
        self._on_way.discard(node)
        if reply.ended:
            self._ended.add(node)
        if reply.bundle:
            self._requests[node] = reply.bundle
        self._next[node] = self._clock() + self._silence_seconds

    def lost(self, node: str) -> None:
        """Note that a message to the node, or its reply, is lost."""
        self._on_way.discard(node)
        self._answers.pop(node, None)
        self._next[node] = self._clock() + self._retry_seconds

    def due(self, nodes: Iterable[str], wait_seconds: float) -> dict[str, bytes]:
        """Return the bundles to send now, after at most ``wait_seconds`` for the server.

        Args:
            nodes: those that are connected.
            wait_seconds: longest wait for an answer of the server.
        """
        self._nodes = set(nodes)
        for gone in self._on_way - self._nodes:
            self.lost(gone)
        requests, self._requests = self._requests, {}
        for node, bundle in self._server.exchange(requests, wait_seconds).items():
            self._answers.setdefault(node, []).append(bundle)
        now = self._clock()
        done = self._server.done
        sent = {}
        for node in sorted(self._nodes - self._on_way):
            waiting = self._answers.get(node)
            if node in self._ended and done:
                continue
            if waiting:
                sent[node] = waiting.pop(0)
            elif self._next.get(node, now) <= now:
                sent[node] = b""
                self._ended.discard(node)  # perhaps a person has started its member again
        self._on_way |= sent.keys()
        return sent

    @property
    def over(self) -> bool:
        """The last round is done, and the nodes have ended or do not reply any more."""
        if not self._server.done:
            return False
        quiet = self._clock() - self._last_reply
        all_ended = bool(self._nodes) and self._nodes <= self._ended
        return all_ended or quiet >= self._linger_seconds
