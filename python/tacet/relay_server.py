"""Server of a federation inside of another framework's server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from . import _core
from .arguments import function_of, mapping_of, number_of, path_of, text_of, whole_number_of
from .callbacks import in_python_thread
from .errors import InvalidArgumentError


class RelayServer:
    """The ordinary server of a federation, whose members' requests come as bytes.

    Another framework's server carries these bytes, such as Flower's. The server adds encrypted
    updates that it cannot read. It needs no key. It is a context manager, which closes it.

    Args:
        home: folder of the server, which has joined the federation.
        storage: ``"sqlite:PATH"`` or ``"postgresql://..."``; SQLite in ``home`` when not given.
        collecting_seconds: above 0, that members have for their uploads to an attempt.
        grace_seconds: that an attempt waits for members that are not connected, once enough are.
        retry_seconds: pause after an attempt with too few uploads.
        unmasking_seconds: above 0, that the committee has to vote and unmask.
        abandon_seconds: after which an attempt is given up although seats are missing.
        kept_rounds: number, above 0, of last rounds that late members can fetch.
        on_event: called with each event of the server's log, one JSON object and a new line,
            by threads of the server.

    Raises:
        NotFoundError, FailedPreconditionError: the home has no identity, has not joined a
            federation, or is a site's.
        InvalidArgumentError: an option is out of range.
        UnavailableError: the storage cannot be used.
    """

    def __init__(
        self,
        home: str | os.PathLike[str],
        *,
        storage: str | None = None,
        collecting_seconds: int = 600,
        grace_seconds: int = 60,
        retry_seconds: int = 60,
        unmasking_seconds: int = 300,
        abandon_seconds: int = 7 * 24 * 3600,
        kept_rounds: int = 3,
        on_event: Callable[[str], object] | None = None,
    ) -> None:
        told = None if on_event is None else function_of("on_event", on_event, "line")
        self._server = _core.RelayServer.open(
            str(path_of("home", home)),
            None if storage is None else text_of("storage", storage),
            None if told is None else in_python_thread(told),
            whole_number_of("collecting_seconds", collecting_seconds),
            whole_number_of("grace_seconds", grace_seconds),
            whole_number_of("retry_seconds", retry_seconds),
            whole_number_of("unmasking_seconds", unmasking_seconds),
            whole_number_of("abandon_seconds", abandon_seconds),
            whole_number_of("kept_rounds", kept_rounds),
        )

    def exchange(self, bundles: Mapping[str, bytes], wait_seconds: float) -> dict[str, bytes]:
        """Take bundles of requests by node, and return bundles of answers by node.

        Returns as soon as one node has an answer, or after ``wait_seconds``. A request that waits
        for news stays at the server until there are some, or half a minute has passed. A node that
        gave a bundle and for which nothing waits has an answer without calls. A bundle that cannot
        be read, or is empty, counts as one without requests.

        Args:
            bundles: requests by the framework's name of a node, which says nothing about the member
                behind it: members sign their requests.
            wait_seconds: 0 or more.
        """
        wait_seconds = number_of("wait_seconds", wait_seconds)
        for node, bundle in mapping_of("bundles", bundles, "bytes by the name of a node").items():
            if not isinstance(node, str) or not isinstance(bundle, bytes):
                raise InvalidArgumentError("bundles: give bytes by the name of a node, a str")
        return self._server.exchange(dict(bundles), wait_seconds)

    @property
    def done(self) -> bool:
        """Whether no attempt is open and none will follow."""
        return self._server.done

    @property
    def round(self) -> int:
        """Number of rounds whose result was published."""
        return self._server.round

    @property
    def rounds(self) -> int:
        """Number of rounds, as agreed."""
        return self._server.rounds

    def close(self) -> None:
        """End the server. A later one of the same home continues where it was."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
