"""Aggregation server of a live federation, in a process of its own."""

from __future__ import annotations

import atexit
import json
import logging
import os
import signal
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING, Any, Self

from . import programs
from .arguments import path_of, text_of, whole_number_of
from .errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Server"]

_LOG = logging.getLogger("tacet")


class Server:
    """The program ``tacet-server``, which serves the members of a federation.

    It adds encrypted updates that it cannot read. The object is made when the server listens, and
    is a context manager, which ends it. The server ends with this process, too, unless the process
    is killed.

    Args:
        home: folder of the server, which has joined the federation (`tacet.enrolment.join`).
        listen: HOST:PORT at which members connect; ``*:PORT`` is all addresses, port 0 any free.
        admin: HOST:PORT of the operators' HTTP site: health, metrics, and the page.
        storage: ``"sqlite:PATH"`` or ``"postgresql://..."``; SQLite in ``home`` when not given.
        key_file: file that unlocks the keys.
        passphrase_file: file whose first line unlocks them. Without either the terminal asks.
        collecting_seconds: above 0, that members have for their uploads to an attempt.
        grace_seconds: that an attempt waits for members that are not connected, once enough are.
        retry_seconds: pause after an attempt with too few uploads.
        unmasking_seconds: above 0, that the committee has to vote and unmask.
        abandon_seconds: after which an attempt is given up although seats are missing.
        kept_rounds: number, above 0, of last rounds that late members can fetch.
        on_event: called with each event of the server's log (docs/formats/server-log.md), a
            dictionary, by a thread of this object.

    Attributes:
        port: at which members connect.
        page: address of the operators' page; None without one.

    Raises:
        ProgramError: the home has no identity, has not joined a federation, or is a site's; or an
            address or the storage cannot be used.
        FailedPreconditionError: this build of the package has no server.
    """

    def __init__(
        self,
        home: str | os.PathLike[str],
        *,
        listen: str = "0.0.0.0:7443",
        admin: str = "127.0.0.1:9464",
        storage: str | None = None,
        key_file: str | os.PathLike[str] | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
        collecting_seconds: int = 600,
        grace_seconds: int = 60,
        retry_seconds: int = 60,
        unmasking_seconds: int = 300,
        abandon_seconds: int = 7 * 24 * 3600,
        kept_rounds: int = 3,
        on_event: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        words: list[object] = [programs.path_of_program("tacet-server")]
        words += ["--home", path_of("home", home)]
        words += ["--listen", text_of("listen", listen), "--admin", text_of("admin", admin)]
        words += [] if storage is None else ["--state", text_of("storage", storage)]
        numbers = {
            "collecting_seconds": collecting_seconds,
            "grace_seconds": grace_seconds,
            "retry_seconds": retry_seconds,
            "unmasking_seconds": unmasking_seconds,
            "abandon_seconds": abandon_seconds,
            "kept_rounds": kept_rounds,
        }
        for name, number in numbers.items():
            words += ["--" + name.replace("_", "-"), whole_number_of(name, number)]
        words += programs.unlocking(key_file, passphrase_file)
        self.port = 0
        self.page: str | None = None
        self._on_event = on_event
        self._begun = threading.Event()  # it listens, or it has ended
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            list(map(str, words)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._owner = os.getpid()
        atexit.register(self._end_with_process)
        self._reader = threading.Thread(target=self._read, name="tacet server", daemon=True)
        self._reader.start()
        self._begun.wait()
        if self.port == 0:
            self.wait()

    @property
    def running(self) -> bool:
        """Whether the server has not ended."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait until the server ends, which it does when it is told to, or cannot serve.

        Raises:
            ProgramError: it failed; the text is the program's.
        """
        code = self._process.wait()
        self._reader.join()
        atexit.unregister(self._end_with_process)
        if self._errors.closed:
            return
        with self._errors as errors:
            errors.seek(0)
            printed = errors.read()
        if code != 0:
            raise ProgramError(programs.error_text(printed, code))

    def close(self) -> None:
        """End the server. A later one of the same home continues where it was."""
        if self.running:
            self._process.send_signal(signal.SIGTERM)
        self.wait()

    def _end_with_process(self) -> None:
        if os.getpid() == self._owner:  # and not a process that it forked
            self._process.terminate()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                event = json.loads(line)
                self._note(event)
                if self._on_event is None:
                    continue
                try:
                    self._on_event(event)
                except Exception:  # of the listener: the server continues
                    _LOG.exception("on_event raised an exception")
        self._begun.set()

    def _note(self, event: dict[str, Any]) -> None:
        if event["event"] == "admin-listening":
            self.page = event.get("page")
        elif event["event"] == "listening":
            self.port = event["port"]
            self._begun.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        text = "a Server is not pickled or copied, since it is a process: open its home there"
        raise TypeError(text)

    def __repr__(self) -> str:
        state = f"port {self.port}" if self.running else "ended"
        return f"<Server, {state}>"
