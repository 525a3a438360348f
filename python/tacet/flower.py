"""Flower apps whose server sees no update, no sum and no model.

Import it by name: ``import tacet.flower``. Needs flwr, which the package does not install.

An app that uses SecAgg+ replaces its mod and its workflow::

    app = ClientApp(client_fn=client_fn, mods=[tacet_mod()])       # in place of secaggplus_mod
    fit_workflow = TacetWorkflow("terms.json")                     # in place of SecAggPlusWorkflow

Each client's `tacet.site.Site` holds its keys and its copy of the model. The workflow relays sealed
bytes; Flower's ``Parameters`` become a text that no `ClientApp` can train on.
"""

from __future__ import annotations

import traceback
from logging import ERROR, INFO, WARNING
from typing import TYPE_CHECKING, Any

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.app.message_type import MessageType
from flwr.common import (
    Code,
    EvaluateIns,
    FitIns,
    Parameters,
    ndarrays_to_parameters,
    parameters_to_ndarrays,
)
from flwr.compat.common import recorddict_compat as compat
from flwr.server.compat.legacy_context import LegacyContext
from flwr.server.strategy import FedAvg
from flwr.server.workflow import DefaultWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD
from flwr.server.workflow.constant import Key as WorkflowKey
from flwr.supercore import log

from .errors import FailedPreconditionError, InvalidArgumentError, UnavailableError
from .relay import Relay
from .requests import SEAL, answer, receive, reply_fields
from .site import Site
from .terms import Terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flwr.clientapp.typing import ClientAppCallable, Mod
    from flwr.serverapp import Grid

    from .key_files import StrPath

# Flower's, so that one import replaces that of SecAggPlusWorkflow.
__all__ = ["DefaultWorkflow", "TacetWorkflow", "opaque_parameters", "tacet_mod"]

_RECORD, _CONFIG = "tacet", "tacet.config"
_TENSOR_TYPE = "tacet"
_REFUSED = "tacet: refused by this site; the reason is in its own log"


class SiteRefusedError(Exception):
    """A site's refusal as the server sees it: without a reason, which could tell of its data."""


def opaque_parameters() -> Parameters:
    """Return the ``Parameters`` that the server holds in place of a model."""
    text = b"tacet: the members hold the model; the server and a ClientApp without the mod do not"
    return Parameters(tensors=[text], tensor_type=_TENSOR_TYPE)


# --------------------
# Client


def tacet_mod(home: str | None = None, *, key_file: str | None = None) -> Mod:
    """Return the client mod that seals every update; it replaces ``secaggplus_mod``.

    It answers training and evaluation only. The `ClientApp` gets this site's model as its
    parameters, and its result leaves the site sealed, or not at all. Metrics of ``fit`` stay at the
    site. Results of ``evaluate`` go to the server only from a site that has joined with
    ``publish_evaluation``.

    Args:
        home: the site's folder. None: ``tacet-home`` of the node's configuration. ``{KEY}`` is
            replaced by that configuration's value, such as ``sites/site-{partition-id}`` in a
            simulation.
        key_file: the key file that unlocks it, likewise ``tacet-key-file``.
    """

    def mod(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
        try:
            site = Site(
                _setting(context, home, "tacet-home"),
                key_file=_setting(context, key_file, "tacet-key-file"),
            )
            kind = message.metadata.message_type
            if kind == MessageType.TRAIN:
                content = _answer(site, message, context, call_next)
            elif kind == MessageType.EVALUATE:
                content = _evaluation(site, message, context, call_next)
            else:
                text = (
                    f"a message of type {kind!r} would leave this site unprotected: send messages "
                    "of training and evaluation only"
                )
                raise FailedPreconditionError(text)
        except Exception:
            # An exception's text would travel to the server.
            log(ERROR, "tacet: refused\n%s", traceback.format_exc())
            raise SiteRefusedError(_REFUSED) from None
        return Message(content, reply_to=message)

    return mod


def _setting(context: Context, value: str | None, key: str) -> str:
    """Value of a setting, from the mod's argument or the node's configuration."""
    if value is None:
        found = context.node_config.get(key)
        if found is None:
            text = f'the node has no "{key}": start it with --node-config \'{key}="PATH"\''
            raise InvalidArgumentError(text)
        return str(found)
    for name, found in context.node_config.items():
        value = value.replace("{" + name + "}", str(found))
    return value


def _answer(
    site: Site, message: Message, context: Context, call_next: ClientAppCallable
) -> RecordDict:
    """Answer a request of `TacetWorkflow`."""
    fields = message.content.config_records.get(_RECORD)
    if fields is None:
        text = (
            "the server does not run TacetWorkflow: an update would leave this site unprotected. "
            "Use it as the fit_workflow of the server's DefaultWorkflow"
        )
        raise FailedPreconditionError(text)
    request = receive(site, fields)
    if request.refusal is not None:
        log(ERROR, "tacet: refused\n%s", request.refusal)
    if request.stage == SEAL:
        upload = _sealed(site, request.attempt, message, context, call_next)
        return RecordDict({_RECORD: ConfigRecord(reply_fields(site, upload=upload))})
    return RecordDict({_RECORD: ConfigRecord(answer(site, request, fields))})


def _sealed(
    site: Site, attempt: int, message: Message, context: Context, call_next: ClientAppCallable
) -> bytes:
    """Train with the site's model and seal the update; an attempt has one upload."""
    stored = site.upload_of(attempt)
    if stored is not None:
        return stored
    site.check_attempt(attempt)
    base = site.model_digest
    config: Any = dict(message.content.config_records.get(_CONFIG) or {})
    inner = FitIns(ndarrays_to_parameters(site.model), config)
    trained = call_next(
        _with(message, compat.fitins_to_recorddict(inner, keep_input=True)), context
    )
    if trained.has_error():
        text = f"the ClientApp failed, correct its fit: {trained.error.reason}"
        raise FailedPreconditionError(text)
    result = compat.recorddict_to_fitres(trained.content, keep_input=True)
    if result.status.code != Code.OK:
        text = f"the ClientApp failed, correct its fit: {result.status.message}"
        raise FailedPreconditionError(text)
    if result.num_examples != 1:
        text = (
            f"fit returned num_examples = {result.num_examples}. The members' mean has equal "
            "weights, since a weight would tell the size of a site's data: return 1"
        )
        raise InvalidArgumentError(text)
    sealed = site.seal(attempt, base, parameters_to_ndarrays(result.parameters))
    if not sealed.finite:
        log(
            ERROR,
            "tacet: fit returned a NaN or an infinity. Zeros were sealed in its place, and the "
            "attempt is charged: correct the training of this site",
        )
    return sealed.upload


def _evaluation(
    site: Site, message: Message, context: Context, call_next: ClientAppCallable
) -> RecordDict:
    """Evaluate the site's model, if this site publishes loss and metrics of its data."""
    if not site.publish_evaluation:
        text = (
            "loss and metrics of this site's data would reach the server outside of epsilon: set "
            "fraction_evaluate=0, or join with publish_evaluation=True"
        )
        raise FailedPreconditionError(text)
    wanted = compat.recorddict_to_evaluateins(message.content, keep_input=True)
    inner = EvaluateIns(ndarrays_to_parameters(site.model), wanted.config)
    evaluated = call_next(
        _with(message, compat.evaluateins_to_recorddict(inner, keep_input=True)), context
    )
    if evaluated.has_error():
        text = f"the ClientApp failed, correct its evaluate: {evaluated.error.reason}"
        raise FailedPreconditionError(text)
    return compat.evaluateres_to_recorddict(compat.recorddict_to_evaluateres(evaluated.content))


def _with(message: Message, content: RecordDict) -> Message:
    """Return the message with other content, for the ClientApp."""
    message.content = content
    return message


# --------------------
# Server


class TacetWorkflow:
    """Fit workflow that replaces ``SecAggPlusWorkflow``; it holds no key.

    A round asks the clients for sealed updates, the committee for votes and unmask shares, and
    sends the outcome to every client, which decrypts and applies it. A round that fails is tried
    again in the next round of Flower, as long as the terms have spare attempts. An outcome whose
    answers are lost is sent again in the next round of Flower.

    Args:
        terms: the file of `tacet.terms.Terms`.
        state: folder in which outcomes outlive the server's process. None: they do not, and a
            server that restarts cannot go on.
        timeout: seconds to wait for the replies of each stage; None waits for all of them.

    Attributes:
        relay: the `tacet.relay.Relay`.
    """

    def __init__(
        self,
        terms: StrPath,
        *,
        state: StrPath | None = None,
        timeout: float | None = None,
    ) -> None:
        self.relay = Relay(Terms.load(terms), folder=state)
        self.timeout = timeout
        self._grid: Grid | None = None

    @property
    def failures(self) -> list[str]:
        """Texts about clients that failed in the latest round."""
        return self.relay.failures

    def __call__(self, grid: Grid, context: Context) -> None:
        """Run one round."""
        if not isinstance(context, LegacyContext):
            text = (
                f"a LegacyContext is needed, this is a {type(context).__name__}: make one in the "
                "ServerApp's main function, LegacyContext(context, config=..., strategy=...)"
            )
            raise TypeError(text)
        _check_strategy(context.strategy)
        if self._grid is not grid:
            self._grid = grid
            self.relay.forget_clients()
        context.state.array_records[MAIN_PARAMS_RECORD] = _opaque_record()
        current = context.state.config_records[MAIN_CONFIGS_RECORD][WorkflowKey.CURRENT_ROUND]
        instructions = context.strategy.configure_fit(
            int(current), opaque_parameters(), context.client_manager
        )
        configs = {proxy.node_id: dict(fitins.config) for proxy, fitins in instructions}
        send = _Sender(grid, str(current), configs, self.timeout)
        self.relay.begin(send, list(grid.get_node_ids()))
        try:
            uploads = self.relay.collect(send, configs)
            log(INFO, "tacet: %s clients sent sealed updates", len(uploads))
            self.relay.complete(send, uploads, list(grid.get_node_ids()))
            log(INFO, "tacet: round %s has an outcome", self.relay.round)
        except UnavailableError as error:
            self.relay.fail()
            log(ERROR, "tacet: round %s has no outcome: %s", self.relay.round, error)
        for failure in self.failures:
            log(WARNING, "tacet: %s", failure)


class _Sender:
    """Carries a relay's requests as Flower's messages of one round."""

    def __init__(
        self, grid: Grid, group: str, configs: dict[int, dict[str, Any]], timeout: float | None
    ) -> None:
        self._grid = grid
        self._group = group
        self._configs = configs
        self._timeout = timeout

    def __call__(self, requests: dict[Any, dict[str, Any]]) -> dict[Any, Mapping[str, Any] | str]:
        """Return the fields of each answer, or why there is none."""
        messages = []
        for node, fields in requests.items():
            content = RecordDict({_RECORD: ConfigRecord(fields)})
            if fields["stage"] == SEAL:
                content.config_records[_CONFIG] = ConfigRecord(self._configs[node])
            messages.append(
                Message(
                    content=content,
                    dst_node_id=node,
                    message_type=MessageType.TRAIN,
                    group_id=self._group,
                )
            )
        answers: dict[Any, Mapping[str, Any] | str] = {}
        for reply in self._grid.send_and_receive(messages, timeout=self._timeout):
            node = reply.metadata.src_node_id
            if reply.has_error():
                answers[node] = str(reply.error.reason)
            elif reply.content.array_records or reply.content.metric_records:
                answers[node] = {}  # an update in the clear, which is not read
            else:
                record = reply.content.config_records.get(_RECORD)
                answers[node] = {} if record is None else dict(record)
        return answers


def _opaque_record() -> ArrayRecord:
    return compat.parameters_to_arrayrecord(opaque_parameters(), keep_input=True)


def _check_strategy(strategy: Any) -> None:
    """Refuse a strategy that computes with a model at the server, which has none."""
    if getattr(type(strategy), "aggregate_fit", None) is not FedAvg.aggregate_fit:
        text = (
            f"{type(strategy).__name__} computes the next model at the server, which has none "
            "here: use FedAvg, and server_learning_rate of the terms"
        )
        raise TypeError(text)
    if getattr(strategy, "evaluate_fn", None) is not None:
        text = "evaluate_fn needs the model at the server, which has none here: evaluate at a site"
        raise TypeError(text)
