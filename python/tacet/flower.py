"""Flower apps whose server sees no update, no sum and no model.

Import it by name: ``import tacet.flower``. Needs flwr, which the package does not install. An app
of Flower's Message API changes two imports::

    from tacet.flower import ClientApp  # in place of flwr.clientapp
    from tacet.flower import FedAvg     # in place of flwr.serverapp.strategy

A site is an ordinary member of a federation: ``tacet client run --app SOCKET`` holds its keys, its
model and its ledger. `ClientApp` carries that process's bytes, and calls ``@app.train`` when that
process asks for an update. `FedAvg` hosts the ordinary server.
"""

from __future__ import annotations

import os
import time
import traceback
from collections import OrderedDict
from dataclasses import dataclass
from logging import ERROR, INFO, WARNING
from typing import TYPE_CHECKING, Any, cast

import flwr.clientapp
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, Metadata, RecordDict
from flwr.app.message_type import MessageType
from flwr.serverapp.strategy import Result
from flwr.supercore import log

from . import RelayServer
from .arguments import path_of
from .dispatch import Dispatch, server_home
from .errors import FailedPreconditionError, InvalidArgumentError
from .ferry import Ferry, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flwr.serverapp import Grid
    from numpy.typing import NDArray

    from .ferry import Task

__all__ = ["ClientApp", "FedAvg", "FedAvgResult", "SiteError"]

_RECORD = "tacet"
_TRAIN_SECONDS = 24 * 3600.0  # life of the message that the app's function gets
_REFUSED = "tacet: this site did not answer; the reason is in its own log"


class SiteError(Exception):
    """A site's failure as the server sees it: without a reason, which could tell of its data."""


# --------------------
# Client


class ClientApp(flwr.clientapp.ClientApp):  # type: ignore[misc]
    """Flower's ``ClientApp``, of which nothing leaves the site but the bytes of its member.

    ``@app.train`` gets the site's model as ``arrays``, and the agreed configuration as ``config``
    and as ``context.run_config``. Its reply needs an ``ArrayRecord`` with the trained model. With
    unit record or person it also gets ``units``, with the places ``drawn`` and the ``clip-norm``.
    Its reply then needs an ``ArrayRecord`` named ``sum``: the sum over the drawn units of their
    updates, each clipped to that norm. Metrics, errors and texts stay at the site, and so do
    ``@app.evaluate`` and ``@app.query``.

    Args:
        mods: as of Flower's.
        socket: of the site's member process. None: ``tacet-socket`` of the node's configuration,
            or the environment's ``TACET_SOCKET``. ``{KEY}`` is replaced by that configuration's
            value, such as ``sites/{partition-id}/app.sock`` in a simulation.
    """

    def __init__(
        self,
        mods: list[flwr.clientapp.typing.Mod] | None = None,
        *,
        socket: str | os.PathLike[str] | None = None,
    ) -> None:
        if callable(mods):
            text = "ClientApp(client_fn) is Flower's older API: write a function with @app.train()"
            raise TypeError(text)
        super().__init__(mods=mods)
        self._socket = None if socket is None else str(path_of("socket", socket))

    def __call__(self, message: Message, context: Context) -> Message:
        """Answer the server with bytes of the site's member."""
        try:
            reply = self._carry(message, context)
        except KeyboardInterrupt:
            raise
        except BaseException:  # also sys.exit() of the app; a text would travel to the server
            log(ERROR, "tacet: no answer\n%s", traceback.format_exc())
            raise SiteError(_REFUSED) from None
        fields = ConfigRecord({"bundle": reply.bundle, "ended": reply.ended})
        return Message(RecordDict({_RECORD: fields}), reply_to=message)

    def _carry(self, message: Message, context: Context) -> Reply:
        kind = message.metadata.message_type
        record = message.content.config_records.get(_RECORD)
        if kind != MessageType.TRAIN or record is None:
            text = (
                f"a message of type {kind!r} without bytes of tacet: its answer would leave this "
                "site unprotected. Use tacet.flower.FedAvg as the server's strategy"
            )
            raise FailedPreconditionError(text)
        answers = record["bundle"]
        if not isinstance(answers, bytes):
            text = f"the server sent a bundle of type {type(answers).__name__}, wanted bytes"
            raise InvalidArgumentError(text)
        with Ferry(self._socket_of(context)) as ferry:
            return ferry.carry(answers, lambda task: self._train(task, context))

    def _socket_of(self, context: Context) -> str:
        path = self._socket or context.node_config.get("tacet-socket")
        path = path or os.environ.get("TACET_SOCKET")
        if not path:
            text = (
                "the node does not name its member's socket: start it with "
                "--node-config 'tacet-socket=\"PATH\"'"
            )
            raise InvalidArgumentError(text)
        path = str(path)
        for name, value in context.node_config.items():
            path = path.replace("{" + name + "}", str(value))
        return path

    def _train(self, task: Task, context: Context) -> NDArray[Any]:
        """Call the app's function with nothing that the server chose; returns the update."""
        arrays = OrderedDict((name, Array(array)) for name, array in task.arrays().items())
        content = RecordDict(
            {
                "arrays": ArrayRecord(arrays),
                "config": ConfigRecord(task.config | {"server-round": task.round + 1}),
            }
        )
        if task.units is not None:
            content["units"] = ConfigRecord(
                {"drawn": task.units, "clip-norm": cast("float", task.clip_norm)}
            )
        metadata = Metadata(
            run_id=context.run_id,
            message_id="",
            src_node_id=context.node_id,
            dst_node_id=context.node_id,
            reply_to_message_id="",
            group_id="",
            created_at=time.time(),
            ttl=_TRAIN_SECONDS,
            message_type=MessageType.TRAIN,
        )
        own = Context(
            context.run_id, context.node_id, context.node_config, context.state, task.config
        )
        trained = super().__call__(Message(content, metadata=metadata), own)
        if trained.has_error():
            text = f"the app failed: {trained.error.reason}"
            raise FailedPreconditionError(text)
        records = trained.content.array_records
        wanted = "the trained model" if task.units is None else 'named "sum": the sum over units'
        if len(records) != 1 or (task.units is not None and "sum" not in records):
            text = f"the app's reply has the ArrayRecords {sorted(records)}, wanted one, {wanted}"
            raise InvalidArgumentError(text)
        (record,) = records.values()
        result = {name: array.numpy() for name, array in record.items()}
        return task.update(result) if task.units is None else task.vector(result)


# --------------------
# Server


@dataclass
class FedAvgResult(Result):  # type: ignore[misc]
    """Result of a training whose model only the sites have.

    Attributes:
        rounds: rounds that were completed.
    """

    rounds: int = 0

    def __repr__(self) -> str:
        return f"<FedAvgResult, {self.rounds} rounds; the sites hold the model>"


class FedAvg:
    """Strategy in place of Flower's ``FedAvg``: hosts the federation's server, and holds no key.

    Rounds, cohorts, noise and configuration are those that the members have signed. Arguments of
    Flower's ``FedAvg`` that choose nodes, weights, evaluation or metrics are accepted and have no
    effect; the log names them.

    Args:
        home: the server's folder (``tacet client join``). None: the environment's
            ``TACET_SERVER_HOME``.
        server_options: further arguments of `tacet.RelayServer`, such as ``collecting_seconds``.
        **flower: arguments of Flower's ``FedAvg``.
    """

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        server_options: Mapping[str, Any] | None = None,
        **flower: object,
    ) -> None:
        self._home = server_home(home)
        self._options = dict(server_options or {})
        unknown = set(flower) - _FLOWERS
        if unknown:
            text = f"FedAvg has no arguments {sorted(unknown)}"
            raise TypeError(text)
        if flower:
            log(WARNING, "tacet: %s have no effect: the members have agreed", sorted(flower))

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord | None = None,
        *,
        num_rounds: int | None = None,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: object = None,
    ) -> FedAvgResult:
        """Serve the federation until its last round.

        Args:
            grid: Flower's.
            initial_arrays: not sent, since the members have agreed on the initial model.
            num_rounds: None, or the agreed number of rounds.
            timeout: seconds for a message's answer, after which the node is asked again.
            train_config: not sent, since the members have agreed on ``model.app``.
            evaluate_config: not sent: no node is asked to evaluate.
            evaluate_fn: None: the server has no model to evaluate.

        Returns:
            The result; its ``arrays`` are empty, since the model stays at the sites.

        Raises:
            InvalidArgumentError: another number of rounds, or an ``evaluate_fn``.
        """
        if evaluate_fn is not None:
            text = "the server has no model, so evaluate_fn has nothing to evaluate: leave it out"
            raise InvalidArgumentError(text)
        if train_config or evaluate_config:
            log(WARNING, "tacet: the members have agreed on model.app; no other one is sent")
        with RelayServer(self._home, **self._options) as server:
            dispatch = Dispatch(server, rounds=num_rounds)
            nodes = _Nodes(grid, timeout)
            while not dispatch.over:
                for node, reply in nodes.replies():
                    if reply is None:
                        log(WARNING, "tacet: node %s did not answer, and is asked again", node)
                        dispatch.lost(node)
                    else:
                        dispatch.replied(node, reply)
                nodes.send(dispatch.due(nodes.connected(), _WAIT_SECONDS))
            log(INFO, "tacet: the last round is done; %s rounds", server.round)
            return FedAvgResult(rounds=server.round)


_WAIT_SECONDS = 0.5
_FLOWERS = {
    "fraction_train",
    "fraction_evaluate",
    "min_train_nodes",
    "min_evaluate_nodes",
    "min_available_nodes",
    "weighted_by_key",
    "arrayrecord_key",
    "configrecord_key",
    "train_metrics_aggr_fn",
    "evaluate_metrics_aggr_fn",
}


class _Nodes:
    """Messages to the nodes of a grid, and their replies."""

    def __init__(self, grid: Grid, timeout: float) -> None:
        self._grid = grid
        self._timeout = timeout
        self._sent: dict[str, tuple[str, float]] = {}  # by message: node, when it is late

    def connected(self) -> list[str]:
        """Return the names of the nodes that are there."""
        return [str(node) for node in self._grid.get_node_ids()]

    def send(self, bundles: dict[str, bytes]) -> None:
        """Send each bundle to its node."""
        messages = [
            Message(
                RecordDict({_RECORD: ConfigRecord({"bundle": bundle})}),
                dst_node_id=int(node),
                message_type=MessageType.TRAIN,
            )
            for node, bundle in bundles.items()
        ]
        late = time.monotonic() + self._timeout
        identities = self._grid.push_messages(messages)
        for identity, node in zip(identities, bundles, strict=True):
            self._sent[identity] = (node, late)

    def replies(self) -> list[tuple[str, Reply | None]]:
        """Return the replies that are there, with None for one that failed or is late."""
        answered: list[tuple[str, Reply | None]] = []
        for message in self._grid.pull_messages(list(self._sent)) if self._sent else []:
            node, _ = self._sent.pop(message.metadata.reply_to_message_id, (None, 0.0))
            if node is not None:
                answered.append((node, _reply_of(message)))
        now = time.monotonic()
        for identity in [i for i, (_, late) in self._sent.items() if late < now]:
            answered.append((self._sent.pop(identity)[0], None))
        return answered


def _reply_of(message: Message) -> Reply | None:
    """Read a node's reply; None if it has none of tacet. Other records are not looked at."""
    if message.has_error():
        return None
    record = message.content.config_records.get(_RECORD)
    bundle = None if record is None else record.get("bundle")
    if not isinstance(bundle, bytes):
        return None
    return Reply(bundle, ended=record.get("ended") is True)
