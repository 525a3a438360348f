"""Member of a live federation whose site trains a model in Python.

A site is enrolled with the program (``tacet client request``, ``tacet client join``). Its member
then trains, seals, uploads, votes, decrypts and verifies, as ``tacet client run`` does, with the
same policy, ledger, checkpoint and run directory in the site's home::

    site = tacet.Member("home", server="hub.example:7443", data="records.csv", key_file="site.key")
    run = site.run(train)

or, with a loop of one's own::

    for task in site:
        task.submit(my_training(task.model, task.round))
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import queue
import threading
from typing import TYPE_CHECKING, Any

from . import _core
from .arguments import function_of, number_of, path_of, text_of, whole_number_of
from .errors import FailedPreconditionError
from .progress import RoundBar
from .simulation import open_run, train_function_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from .simulation import Run, TrainClient, TrainUnits

__all__ = ["Member", "Task"]

_LOG = logging.getLogger("tacet")


class Task:
    """One attempt in which this site's data take part; it is answered once.

    Attributes:
        round: number of the round, from 0.
        model: parameters at its start, float32 of shape (d,), read-only.
        units: with unit record or person, the places of those that were drawn, below their number
            at this site; None with unit client. The draw is secret: keep it at the site.
        clip_norm: norm to which each unit's part is clipped, the agreed one less 2^-8 of it for
            rounding; None with unit client.
    """

    def __init__(
        self,
        model: NDArray[np.float32],
        round: int,
        units: list[int] | None,
        clip_norm: float | None,
        memory: _core.SealedMemory,
    ) -> None:
        self.model = model
        self.round = round
        self.units = units
        self.clip_norm = clip_norm
        self._memory = memory
        self._lock = threading.RLock()  # the memory is not freed while it is written
        self._answered = threading.Event()
        self._written = False
        self._error: BaseException | None = None

    def submit(self, update: NDArray[np.floating[Any]]) -> None:
        """Hand over the update; it is copied, once, into the memory that is sealed.

        Another shape or type, and a value that is not finite, are a failure of the training, as
        `fail` describes.

        Args:
            update: new minus old parameters, or the sum over the drawn units of their clipped
                updates: float32 or float64 of shape (d,), not clipped otherwise, without noise.

        Raises:
            FailedPreconditionError: the task was answered already.
        """
        with self._lock:
            if self._answered.is_set():
                text = f"the task of round {self.round} was answered already: wait for the next one"
                raise FailedPreconditionError(text)
            try:
                self._memory.write(update)
            except Exception as error:
                self.fail(error)
                return
            self._written = True
            self._answered.set()

    def fail(self, error: BaseException) -> None:
        """State that training failed, unless the task was answered.

        Zeros are sealed in the update's place, and the member continues: neither what is sent nor
        whether the site is there may depend on its data. The logger ``tacet`` tells of it. The
        loop raises the first such error when the federation is done.
        """
        with self._lock:
            if self._answered.is_set():
                return
            error.add_note(f"Zeros were sealed in round {self.round} in place of the update.")
            self._error = error
            self._answered.set()

    def _stop(self) -> None:
        with self._lock:
            self._answered.set()

    def _wait(self) -> bool:
        """Return whether the update was written; False when the member is to end."""
        self._answered.wait()
        if self._error is not None:
            raise self._error
        return self._written

    def __repr__(self) -> str:
        return f"<Task of round {self.round}, {self.model.size} parameters>"


class _Session:
    """A run of the member in a thread of its own, which puts its tasks into a queue."""

    def __init__(self, member: _core.Member) -> None:
        self.events: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._member = member
        self._lock = threading.Lock()
        self._stopping = False
        self._pending: Task | None = None
        self.owner = threading.get_ident()
        member.begin()
        self._thread = threading.Thread(target=self._work, name="tacet member", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._member.stop()
        with self._lock:
            self._stopping = True
            if self._pending is not None:
                self._pending._stop()

    def join(self) -> None:
        self._thread.join()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _work(self) -> None:
        try:
            self._member.run(self._train, self._tell)
        except BaseException as error:
            self.events.put(("error", error))
        else:
            self.events.put(("done", None))

    def _train(
        self,
        model: NDArray[np.float32],
        round: int,
        units: list[int] | None,
        clip_norm: float | None,
        memory: _core.SealedMemory,
    ) -> bool:
        task = Task(model, round, units, clip_norm, memory)
        with self._lock:
            if self._stopping:
                return False
            self._pending = task
        self.events.put(("task", task))
        return task._wait()

    def _tell(self, kind: str, value: Any) -> None:
        self.events.put((kind, value))


class Member:
    """A site's member of a live federation. Its keys are unlocked as long as the object lives.

    Several members may run in one process, each in a thread; one home has one at a time.

    Args:
        home: the site's folder, which has joined the federation (``tacet client join``).
        server: HOST:PORT of the federation's server.
        data: file or folder of this site's data, in any form. A digest that stays at the site
            notices that they changed. Rows of tables (.csv, .tsv, .data) are compared with those
            of the site's other populations.
        records: number of records in the data. With unit record they are the units; the site's
            policy may ask for a least number.
        persons: with unit person, number of persons in the data.
        passphrase_file: file whose first line is the passphrase of the keys, readable by its owner
            alone. Without it and ``key_file`` the terminal asks.
        key_file: file of random bytes that unlocks the keys instead.
        policy: the site's policy, signed by its officer in FILE.sig. None: ``policy.toml`` in the
            home, if there is one.
        proxy: HTTP proxy, http://[USER:PASSWORD@]HOST:PORT. Empty: as the environment says.
        ledger: folder with the ledger of this site's population, which all its data charge. None:
            the user's own, as for the program.
        ledger_anchor: file in another place that remembers the ledger's end.
        ledger_rule: "announced-attempts" or "own-seals". None: as the program chooses.
        ledger_composition: of a new ledger: "any-events" or "one-event".
        budget_epsilon: of a new ledger: largest epsilon that all federations may cost together.

    Attributes:
        outcome: what ``tacet client run --json`` prints at the end; None before.

    Raises:
        NotFoundError: ``home`` holds no identity, or has not joined a federation.
        FailedPreconditionError: it is the server's, or this build has no network.
        PermissionDeniedError, InvalidArgumentError: a wrong passphrase or key file.
        TypeError: an argument has another type, or a number is below 0; the text names it.
    """

    def __init__(
        self,
        home: str | os.PathLike[str],
        *,
        server: str,
        data: str | os.PathLike[str],
        records: int | None = None,
        persons: int | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
        key_file: str | os.PathLike[str] | None = None,
        policy: str | os.PathLike[str] | None = None,
        proxy: str = "",
        ledger: str | os.PathLike[str] | None = None,
        ledger_anchor: str | os.PathLike[str] | None = None,
        ledger_rule: str | None = None,
        ledger_composition: str | None = None,
        budget_epsilon: float | None = None,
    ) -> None:
        if not hasattr(_core, "Member"):
            text = (
                "this build of the package has no network: libraries for it were missing at "
                "compilation. Run `tools/setup.sh demo server python` in a copy of the repository, "
                "and install the package again"
            )
            raise FailedPreconditionError(text)
        self.home = path_of("home", home)
        self.outcome: dict[str, Any] | None = None
        self._session: _Session | None = None
        self._core = _core.Member.open(
            str(self.home),
            text_of("server", server),
            text_of("proxy", proxy),
            _path("policy", policy),
            _path("passphrase_file", passphrase_file),
            _path("key_file", key_file),
            str(path_of("data", data)),
            None if records is None else whole_number_of("records", records),
            None if persons is None else whole_number_of("persons", persons),
            _path("ledger", ledger),
            _path("ledger_anchor", ledger_anchor),
            None if ledger_rule is None else text_of("ledger_rule", ledger_rule),
            (
                None
                if ledger_composition is None
                else text_of("ledger_composition", ledger_composition)
            ),
            None if budget_epsilon is None else number_of("budget_epsilon", budget_epsilon),
        )

    @property
    def name(self) -> str:
        """Name of the site in the federation."""
        return self._core.name

    @property
    def number(self) -> int:
        """Number of the site among the members, from 0."""
        return self._core.number

    @property
    def federation(self) -> str:
        """Name of the federation."""
        return self._core.federation

    @property
    def unit(self) -> str:
        """The protected unit: client, record or person."""
        return self._core.unit

    @property
    def rounds(self) -> int:
        """Number of rounds that were agreed."""
        return self._core.rounds

    @property
    def learning_rate(self) -> float:
        """Learning rate of the server in the first round that was agreed."""
        return self._core.learning_rate

    @property
    def initial_model(self) -> NDArray[np.float32]:
        """Parameters before the first round, float32 of shape (d,), read-only."""
        return self._core.initial_model

    def run(
        self,
        train: TrainClient | TrainUnits,
        *,
        on_round: Callable[[dict[str, Any]], object] | None = None,
        progress: bool | None = None,
    ) -> Run:
        """Take part until the federation is done.

        Servers that are offline and lines that break are retried; each such failure is a warning of
        the logger ``tacet``. A second call continues where the first one ended, also in another
        process.

        Args:
            train: for unit client ``train(model, client, round)``, which returns the update; for
                the units record and person ``train(model, client, units, clip_norm)``, which
                returns the sum of the drawn units' clipped updates. ``client`` is `number`.
                Called in this thread.
            on_round: called with the figures of each round that was applied.
            progress: show a bar, which needs tqdm. None: in a terminal or a notebook, if tqdm is
                there.

        Returns:
            The run, as `tacet.open_run` reads it: in ``home/run`` for a federation's first
            training, in ``home/run-N`` for the one that began with epoch N.

        Raises:
            PermissionDeniedError: the agreement exceeds a limit of the site's policy; the text
                names the limit.
            FailedPreconditionError, DataLossError: the home's files do not fit, or are damaged.
            BudgetError: the ledger's budget does not permit a first attempt.

        Where ``train`` raises, also by ``sys.exit``, zeros are sealed in the update's place, and
        the member continues: neither what is sent nor whether the site is there may depend on its
        data. The logger ``tacet`` tells of it at once, and the first such exception arrives here
        when the federation is done. Control-C ends the member at once; the round is trained again
        by the next run.
        """
        call = train_function_of(train, self.unit)
        if on_round is not None:
            function_of("on_round", on_round, "figures")
        with RoundBar(self.rounds, show=progress) as bar:

            def told(line: dict[str, Any]) -> None:
                bar.tell(line)
                if on_round is not None:
                    on_round(line)

            self._answer_all(call, told)
        return open_run(self._core.run_folder)

    def _answer_all(
        self,
        call: Callable[..., NDArray[np.float32]],
        on_round: Callable[[dict[str, Any]], object],
    ) -> None:
        with contextlib.closing(self._tasks(on_round)) as tasks:
            for task in tasks:
                rest = (task.round,) if task.units is None else (task.units, task.clip_norm)
                try:
                    task.submit(call(task.model, self.number, *rest))
                except KeyboardInterrupt:  # of the user: the task is trained again later
                    raise
                except BaseException as error:  # also sys.exit(), which may depend on data
                    task.fail(error)

    def __iter__(self) -> Iterator[Task]:
        """Tasks of this member until the federation is done; each is answered before the next.

        Leaving the loop ends the member, and a task without an answer is trained again later. An
        exception that you raise from the loop's body sends nothing, which may depend on data:
        `run` and `Task.fail` seal zeros instead, and continue. The first error of a task is raised
        when the federation is done.
        """
        return self._tasks(lambda line: None)

    def _end_left_loop(self) -> None:
        if self._session is None:
            return
        if self._session.owner != threading.get_ident() and self._session.is_alive():
            text = "the member runs in another thread already: wait until that one ends"
            raise FailedPreconditionError(text)
        self._session.stop()
        self._session.join()

    def _tasks(self, on_round: Callable[[dict[str, Any]], object]) -> Generator[Task, None, None]:
        self._end_left_loop()
        session = self._session = _Session(self._core)
        atexit.register(session.stop)
        trouble = ""
        try:
            while True:
                kind, value = session.events.get()
                if kind == "task":
                    yield value
                    if not value._answered.is_set():
                        text = f"the task of round {value.round} was not answered: submit an update"
                        raise FailedPreconditionError(text)
                elif kind == "warning":
                    _LOG.warning("%s", value)
                elif kind == "trouble" and value != trouble:
                    trouble = value
                    _LOG.warning("%s; trying again", value)
                elif kind == "violation":
                    _LOG.error("PROTOCOL VIOLATION %s", value)
                elif kind == "failure":
                    text = (
                        "zeros are sealed in its place, and only this site is told. Repair the "
                        "training: each such round costs as much privacy as one with data"
                    )
                    _LOG.error("%s; %s", value, text)
                elif kind == "error":
                    raise value
                elif kind == "round":
                    trouble = ""
                    on_round(json.loads(value))
                elif kind == "end":
                    self.outcome = value
                elif kind == "done":
                    return
        finally:
            session.stop()
            session.join()
            atexit.unregister(session.stop)
            self._session = None

    def __reduce__(self) -> str:
        text = "a Member is not pickled or copied, since it holds keys: open its home there"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<Member {self.name} of {self.federation}, {self.home}>"


def _path(name: str, path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else str(path_of(name, path))
