"""NVFLARE jobs whose server sees no update, no sum and no model.

Import it by name: ``import tacet.nvflare``. Needs nvflare, which the package does not install.

The shape is that of NVFLARE's recipe for homomorphic encryption. The controller
``ScatterAndGather``, the executor and ``FullModelShareableGenerator`` stay::

    job.to_server(TacetAggregator("terms.json"), id="aggregator")
    job.to_clients(TacetModelFilter(home, key_file), filter_type=FilterType.TASK_DATA)
    job.to_clients(TacetSealFilter(home, key_file), filter_type=FilterType.TASK_RESULT)

Each client's `tacet.site.Site` holds its keys and its copy of the model.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.filter import ContentBlockedException, Filter
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.abstract.aggregator import Aggregator
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType

from .errors import FailedPreconditionError, InvalidArgumentError, TacetError, UnavailableError
from .relay import Relay, Send
from .requests import SEAL, answer, receive, reply_fields
from .site import Site
from .terms import Terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from nvflare.apis.fl_context import FLContext

__all__ = ["TacetAggregator", "TacetModelFilter", "TacetSealFilter"]

_TOPIC, _FIELDS, _BASE = "tacet", "tacet.fields", "tacet.base"
_REFUSED = "tacet: refused by this site; the reason is in its own log"


def _open(home: str, key_file: str, fl_ctx: FLContext) -> Site:
    """Open the site; ``{name}`` in a path is the client's name in the federation of NVFLARE."""
    name = fl_ctx.get_identity_name()
    return Site(home.replace("{name}", name), key_file=key_file.replace("{name}", name))


class TacetModelFilter(Filter):  # type: ignore[misc]
    """Filter of the task's data: gives the executor this site's model.

    Args:
        home: the site's folder; ``{name}`` is replaced by the client's name.
        key_file: the key file that unlocks it, likewise.
    """

    def __init__(self, home: str, key_file: str) -> None:
        super().__init__()
        self.home = home
        self.key_file = key_file

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """Check the server's request, apply what it brings, and fill in the model."""
        try:
            site = _open(self.home, self.key_file, fl_ctx)
            fields = _fields_of(shareable)
            if fields is None:
                text = "the server does not run TacetAggregator: make it the job's aggregator"
                raise FailedPreconditionError(text)
            request = receive(site, fields)
            if request.stage != SEAL:
                text = (
                    f"a task brings the stage {request.stage!r}, wanted {SEAL!r}: use one release "
                    "of tacet at the server and the clients"
                )
                raise FailedPreconditionError(text)
            if site.upload_of(request.attempt) is None:
                site.check_attempt(request.attempt)
            fl_ctx.set_prop(_BASE, (request.attempt, site.model_digest), private=True, sticky=False)
            names = _names_of(site.terms)
            model = dict(zip(names, site.model, strict=True))
        except Exception as error:
            self.log_exception(fl_ctx, "tacet: refused")
            raise ContentBlockedException(_REFUSED) from error
        return DXO(DataKind.WEIGHTS, data=model).update_shareable(shareable)


class TacetSealFilter(Filter):  # type: ignore[misc]
    """Filter of the task's result: seals the update, and takes the site's committee seat.

    Weights and weight differences are sealed; everything else of the result stays at the site.

    Args:
        home: the site's folder; ``{name}`` is replaced by the client's name.
        key_file: the key file that unlocks it, likewise.
    """

    def __init__(self, home: str, key_file: str) -> None:
        super().__init__()
        self.home = home
        self.key_file = key_file

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Answer the committee's requests during the run."""
        if event_type == EventType.START_RUN:
            fl_ctx.get_engine().register_aux_message_handler(_TOPIC, self._answer)

    def _answer(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        """Answer a vote, an unmask or an apply."""
        try:
            site = _open(self.home, self.key_file, fl_ctx)
            fields = _fields_of(request) or {}
            received = receive(site, fields)
            if received.refusal is not None:
                self.log_error(fl_ctx, f"tacet: refused: {received.refusal}", fire_event=False)
            reply = make_reply(ReturnCode.OK)
            reply[_FIELDS] = answer(site, received, fields)
            return reply
        except Exception:
            self.log_exception(fl_ctx, "tacet: refused")
            return make_reply(ReturnCode.EXECUTION_EXCEPTION)

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """Return the sealed update in place of the result."""
        try:
            code = shareable.get_return_code()
            if code != ReturnCode.OK:
                text = f"the executor failed, correct it: {code}"
                raise FailedPreconditionError(text)
            site = _open(self.home, self.key_file, fl_ctx)
            fields = self._sealed(site, shareable, fl_ctx)
        except Exception as error:
            self.log_exception(fl_ctx, "tacet: refused")
            raise ContentBlockedException(_REFUSED) from error
        sealed = DXO(DataKind.APP_DEFINED, data={_FIELDS: fields}).to_shareable()
        sealed.set_return_code(ReturnCode.OK)
        return sealed

    def _sealed(self, site: Site, shareable: Shareable, fl_ctx: FLContext) -> dict[str, Any]:
        noted = fl_ctx.get_prop(_BASE)
        if noted is None:
            text = "TacetModelFilter has not seen the task: add it to the task's data filters"
            raise FailedPreconditionError(text)
        attempt, base = noted
        stored = site.upload_of(attempt)
        if stored is not None:
            return reply_fields(site, upload=stored)
        result = from_shareable(shareable)
        steps = result.get_meta_prop(MetaKey.NUM_STEPS_CURRENT_ROUND, 1)
        if steps != 1:
            text = (
                f"the result has {MetaKey.NUM_STEPS_CURRENT_ROUND} = {steps}. The members' mean "
                "has equal weights, since a weight would tell the size of a site's data: return 1"
            )
            raise InvalidArgumentError(text)
        if result.data_kind not in (DataKind.WEIGHTS, DataKind.WEIGHT_DIFF):
            text = (
                f"the result is of the kind {result.data_kind}: weights are sealed, and no other. "
                "Return DataKind.WEIGHTS or DataKind.WEIGHT_DIFF"
            )
            raise InvalidArgumentError(text)
        tensors = _tensors_of(site.terms, result.data)
        if result.data_kind == DataKind.WEIGHT_DIFF:
            site.terms.vector_of(tensors)  # checks shapes, which the addition would change
            tensors = [model + change for model, change in zip(site.model, tensors, strict=True)]
        sealed = site.seal(attempt, base, tensors)
        if not sealed.finite:
            self.log_error(
                fl_ctx,
                "tacet: the result has a NaN or an infinity. Zeros were sealed in its place, and "
                "the attempt is charged: correct the training of this site",
                fire_event=False,
            )
        return reply_fields(site, upload=sealed.upload)


def _fields_of(shareable: Shareable) -> Mapping[str, Any] | None:
    fields = shareable.get(_FIELDS)
    return fields if isinstance(fields, dict) else None


def _peer_of(fl_ctx: FLContext) -> str:
    """Return the name of the client with which the server talks."""
    return str(fl_ctx.get_peer_context().get_identity_name(default="?"))


def _clients(fl_ctx: FLContext) -> list[str]:
    return [client.name for client in fl_ctx.get_engine().get_clients()]


def _names_of(terms: Terms) -> tuple[str, ...]:
    if not terms.names:
        text = "the terms have no names of tensors, which NVFLARE needs: Terms.for_model(names=...)"
        raise InvalidArgumentError(text)
    return terms.names


def _tensors_of(terms: Terms, data: Any) -> Sequence[NDArray[Any]]:
    """Tensors in the agreed order."""
    names = _names_of(terms)
    if not isinstance(data, dict) or set(data) != set(names):
        found = sorted(data) if isinstance(data, dict) else type(data).__name__
        text = f"the result has the tensors {found}: return those that were agreed, {list(names)}"
        raise InvalidArgumentError(text)
    return [data[name] for name in names]


class TacetAggregator(Aggregator):  # type: ignore[misc]
    """Aggregator that relays sealed bytes; it holds no key.

    After the clients' results it asks the committee for votes and unmask shares, and sends the
    outcome to every client. A round that fails is tried again in the controller's next round. An
    outcome whose answers are lost is sent again in the controller's next round.

    Args:
        terms: the file of `tacet.terms.Terms`.
        state: folder in which outcomes outlive the server's process. None: they do not.
        timeout: seconds to wait for the answers to each request.
    """

    def __init__(self, terms: str, state: str | None = None, timeout: float = 60.0) -> None:
        super().__init__()
        self.terms = terms
        self.state = state
        self.timeout = timeout
        self._relay: Relay | None = None
        self._uploads: dict[str, Mapping[str, Any]] = {}

    @property
    def relay(self) -> Relay:
        """The `tacet.relay.Relay`."""
        if self._relay is None:
            self._relay = Relay(Terms.load(self.terms), folder=self.state)
        return self._relay

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Put a request in place of the model in each task that the controller sends."""
        if event_type == AppEventType.ROUND_STARTED:
            self._uploads = {}
            try:
                self._begin(fl_ctx)
            except TacetError as error:
                self.system_panic(str(error), fl_ctx)
            self._log_failures(fl_ctx, 0)
        elif event_type == AppEventType.BEFORE_TRAIN_TASK:
            task = fl_ctx.get_prop(AppConstants.TRAIN_SHAREABLE)
            _opaque_dxo().update_shareable(task)
            task[_FIELDS] = {}
        elif event_type == EventType.BEFORE_TASK_DATA_FILTER:
            # The controller's task is the same for all clients; this is the copy for one of them.
            task = fl_ctx.get_prop(FLContextKey.TASK_DATA)
            if _fields_of(task) is not None:
                task[_FIELDS] = self.relay.request(_peer_of(fl_ctx), SEAL)

    def _begin(self, fl_ctx: FLContext) -> None:
        """Begin an attempt. The clients of a job that has just started may not answer yet."""
        end = time.monotonic() + self.timeout
        while True:
            try:
                return self.relay.begin(self._send(fl_ctx), _clients(fl_ctx))
            except UnavailableError:
                if time.monotonic() > end:
                    raise
            time.sleep(1)

    def accept(self, shareable: Shareable, fl_ctx: FLContext) -> bool:
        """Take a client's sealed update; False for any other result."""
        client = _peer_of(fl_ctx)
        try:
            if shareable.get_return_code() != ReturnCode.OK:
                text = f"return code {shareable.get_return_code()}"
                raise FailedPreconditionError(text)
            result = from_shareable(shareable)
            fields = result.data.get(_FIELDS) if isinstance(result.data, dict) else None
            if result.data_kind != DataKind.APP_DEFINED or not isinstance(fields, dict):
                fields = {}
            self.relay.read(client, SEAL, fields)
        except (TacetError, ValueError) as error:
            self.relay.failures.append(f"client {client} is left out: {error}")
            self.log_warning(fl_ctx, f"tacet: client {client} is left out: {error}")
            return False
        self._uploads[client] = fields
        return True

    def aggregate(self, fl_ctx: FLContext) -> Shareable:
        """Bring the round to its outcome at the clients; returns the digest that names it."""
        seen = len(self.relay.failures)
        try:
            self.relay.complete(self._send(fl_ctx), self._uploads, _clients(fl_ctx))
            self.log_info(fl_ctx, f"tacet: round {self.relay.round} has an outcome")
        except UnavailableError as error:
            self.relay.fail()
            self.log_error(fl_ctx, f"tacet: round {self.relay.round} has no outcome: {error}")
        self._log_failures(fl_ctx, seen)
        return _opaque_dxo().to_shareable()

    def _log_failures(self, fl_ctx: FLContext, seen: int) -> None:
        for failure in self.relay.failures[seen:]:
            self.log_warning(fl_ctx, f"tacet: {failure}")

    def _send(self, fl_ctx: FLContext) -> Send:
        """Return the function that sends a relay's requests as auxiliary messages."""

        def send(requests: dict[Any, dict[str, Any]]) -> dict[Any, Mapping[str, Any] | str]:
            groups: list[tuple[dict[str, Any], list[str]]] = []
            for client, fields in requests.items():
                same = next((group for known, group in groups if known == fields), None)
                if same is None:
                    groups.append((fields, [client]))
                else:
                    same.append(client)
            replies: dict[str, Shareable] = {}
            for fields, group in groups:
                message = Shareable()
                message[_FIELDS] = fields
                sent = fl_ctx.get_engine().send_aux_request(
                    group, _TOPIC, message, self.timeout, fl_ctx
                )
                replies.update(sent or {})
            answers: dict[Any, Mapping[str, Any] | str] = {}
            for client in requests:
                reply = replies.get(client)
                code = ReturnCode.COMMUNICATION_ERROR if reply is None else reply.get_return_code()
                if code == ReturnCode.OK:
                    answers[client] = _fields_of(reply) or {}
                else:
                    answers[client] = f"return code {code}"
            return answers

        return send

    def reset(self, fl_ctx: FLContext) -> None:
        """Forget the round's uploads."""
        self._uploads = {}


def _opaque_dxo() -> DXO:
    """Return weights that no executor can train on."""
    text = (
        b"tacet: the members hold the model; the server and an executor without the filter do not"
    )
    return DXO(DataKind.WEIGHTS, data={"tacet": np.frombuffer(text, dtype=np.uint8)})
