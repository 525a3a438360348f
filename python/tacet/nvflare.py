"""NVFLARE jobs whose server sees no update, no sum and no model.

Import it by name: ``import tacet.nvflare``. Needs nvflare, which the package does not install. A
job changes one import, its script none::

    from tacet.nvflare import NumpyFedAvgRecipe  # in place of NVFLARE's

A site is an ordinary member of a federation: ``tacet client run --app SOCKET`` holds its keys, its
model and its ledger. `MemberExecutor` carries that process's bytes, and gives the script a model to
train when that process asks for an update. `RelayController` hosts the ordinary server.
"""

from __future__ import annotations

import os
import queue
from typing import TYPE_CHECKING, Any

import numpy as np
from nvflare.apis.app_validation import AppValidator
from nvflare.apis.controller_spec import Task as FlareTask
from nvflare.apis.controller_spec import TaskCompletionStatus
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.app_common.abstract.fl_model import FLModel, ParamsType
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.executors.client_api_executor import ClientAPIExecutor, ExecutionMode
from nvflare.app_common.logging.constants import is_log_streaming_allowed
from nvflare.app_common.utils.fl_model_utils import FLModelUtils
from nvflare.client.config import ExchangeFormat
from nvflare.job_config.api import FedJob
from nvflare.recipe.spec import Recipe

from . import RelayServer
from .app_code import app_digest
from .dispatch import Dispatch, server_home
from .errors import FailedPreconditionError, InvalidArgumentError
from .ferry import Ferry, Reply

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from nvflare.apis.client import Client
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.signal import Signal

    from .ferry import Task

__all__ = [
    "FedAvgRecipe",
    "MemberExecutor",
    "NumpyFedAvgRecipe",
    "PinnedApp",
    "RelayController",
    "SklearnFedAvgRecipe",
    "app_digest",
]

_TASK, _BUNDLE, _ENDED = "tacet", "bundle", "ended"
_LOGS = (
    "NVFLARE would send this site's logs to the server, and with them the texts of the script: "
    'set "allow_log_streaming": false in the site\'s local/resources.json'
)
_WAIT_SECONDS = 0.5
_TASK_SECONDS = 3600


# --------------------
# Client


class MemberExecutor(ClientAPIExecutor):  # type: ignore[misc]
    """Executor of the task ``tacet``: carries the bytes of the site's member.

    The script of NVFLARE's Client API gets the site's model from ``flare.receive()``, with the
    agreed configuration as its ``meta``. Of what it sends, only the parameters are used. Metrics,
    meta, errors and logged values stay at the site. With unit record or person ``meta`` also has
    ``units``, the places of the drawn ones, and ``clip_norm``. The script then sends
    ``FLModel(params_type="DIFF", params=...)``: the sum over the drawn units of their updates, each
    clipped to that norm.

    Args:
        task_script_path: the script; it runs in the client's process.
        task_script_args: its arguments.
        params_exchange_format: the script's form of parameters: ``numpy``, ``pytorch`` or ``raw``.
        socket: of the site's member process. Empty: the environment's ``TACET_SOCKET``.
            ``{name}`` is replaced by the client's name in NVFLARE.
    """

    def __init__(
        self,
        task_script_path: str,
        task_script_args: str = "",
        params_exchange_format: str = ExchangeFormat.NUMPY,
        socket: str = "",
    ) -> None:
        super().__init__(
            execution_mode=ExecutionMode.IN_PROCESS,
            task_script_path=task_script_path,
            task_script_args=task_script_args,
            params_exchange_format=ExchangeFormat(params_exchange_format),
            server_expected_format=(
                ExchangeFormat.RAW
                if params_exchange_format == ExchangeFormat.RAW
                else ExchangeFormat.NUMPY
            ),
        )
        self._socket = socket

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Start the script with the job, unless its texts would reach the server."""
        if event_type == EventType.START_RUN and _sends_logs(fl_ctx):
            self.logger.error("tacet: %s", _LOGS)
            return
        super().handle_event(event_type, fl_ctx)

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """Answer the server with bytes of the site's member."""
        try:
            reply = self._carry(task_name, shareable, fl_ctx, abort_signal)
        except KeyboardInterrupt:
            raise
        except BaseException:  # also sys.exit() of the script; a text would travel to the server
            self.logger.exception("tacet: no answer")
            return make_reply(ReturnCode.EXECUTION_EXCEPTION)
        fields = {_BUNDLE: reply.bundle, _ENDED: reply.ended}
        return DXO(DataKind.APP_DEFINED, data=fields).to_shareable()

    def _carry(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Reply:
        if task_name != _TASK:
            text = f"the server sent a task {task_name!r}; this site answers {_TASK!r} only"
            raise FailedPreconditionError(text)
        if _sends_logs(fl_ctx):
            raise FailedPreconditionError(_LOGS)
        answers = from_shareable(shareable).data[_BUNDLE]
        if not isinstance(answers, bytes):
            text = f"the server sent a bundle of type {type(answers).__name__}, wanted bytes"
            raise InvalidArgumentError(text)
        path = self._socket or os.environ.get("TACET_SOCKET", "")
        if not path:
            text = "the member's socket is not named: set TACET_SOCKET"
            raise InvalidArgumentError(text)
        with Ferry(path.replace("{name}", fl_ctx.get_identity_name())) as ferry:
            return ferry.carry(answers, lambda task: self._train(task, fl_ctx, abort_signal))

    def _train(self, task: Task, fl_ctx: FLContext, abort_signal: Signal) -> NDArray[np.float32]:
        """Give the script the model; returns the update."""
        meta = task.config
        if task.units is not None:
            meta |= {"units": task.units, "clip_norm": task.clip_norm}
        model = FLModel(
            params_type=ParamsType.FULL,
            params=task.arrays(),
            current_round=task.round,
            meta=meta,
        )
        given = FLModelUtils.to_shareable(model)
        result = super().execute(AppConstants.TASK_TRAIN, given, fl_ctx, abort_signal)
        if result.get_return_code(default=ReturnCode.OK) != ReturnCode.OK:
            text = f"the script failed: {result.get_return_code()}"
            raise FailedPreconditionError(text)
        trained = FLModelUtils.from_shareable(result)
        if trained.params is None:
            text = "the script sent no parameters: send FLModel(params=...)"
            raise InvalidArgumentError(text)
        arrays = {name: np.asarray(value) for name, value in trained.params.items()}
        if trained.params_type == ParamsType.DIFF:
            return task.vector(arrays)
        if task.units is not None:
            text = 'with unit record or person send the sum over units, with params_type="DIFF"'
            raise InvalidArgumentError(text)
        return task.update(arrays)

    def fire_log_analytics(self, fl_ctx: FLContext, dxo: DXO) -> None:
        """Keep the values that the script logs: they are outside of epsilon."""


def _sends_logs(fl_ctx: FLContext) -> bool:
    """Whether NVFLARE sends this site's logs to the server, as it does by default."""
    return not fl_ctx.get_prop(FLContextKey.SIMULATE_MODE, False) and is_log_streaming_allowed(
        fl_ctx
    )


# --------------------
# Pinned code


class PinnedApp(AppValidator):  # type: ignore[misc]
    """Component ``app_validator`` of a site's resources: refuses every app but one.

    NVFLARE asks it before a job's code is run.

    Args:
        digest: `app_digest` of the app, as agreed.
    """

    def __init__(self, digest: str) -> None:
        super().__init__()
        self.digest = digest

    def validate(self, app_folder: str) -> tuple[str, dict[str, Any]]:
        """Return an error for another app, else an empty text and no properties."""
        try:
            found = app_digest(app_folder)
        except (InvalidArgumentError, OSError) as error:
            return f"the job's app cannot be read: {error}", {}
        if found != self.digest.strip().lower():
            return f"the job's app has the digest {found}, this site permits {self.digest}", {}
        return "", {}


# --------------------
# Server


class RelayController(Controller):  # type: ignore[misc]
    """Workflow that hosts the federation's server, and holds no key.

    Args:
        num_rounds: the agreed number of rounds; 0: whatever was agreed.
        home: the server's folder (``tacet client join``). Empty: the environment's
            ``TACET_SERVER_HOME``.
        server_options: further arguments of `tacet.RelayServer`, such as ``collecting_seconds``.
    """

    def __init__(
        self,
        num_rounds: int = 0,
        home: str = "",
        server_options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._server_options = server_options or {}
        self._num_rounds = num_rounds
        self._home = home
        self._replies: queue.SimpleQueue[tuple[str, Reply | None]] = queue.SimpleQueue()

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to start."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to stop."""

    def process_result_of_unknown_task(
        self,
        client: Client,
        task_name: str,
        client_task_id: str,
        result: Shareable,
        fl_ctx: FLContext,
    ) -> None:
        """Drop what no task asked for."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Serve the federation until its last round."""
        with RelayServer(server_home(self._home or None), **self._server_options) as server:
            dispatch = Dispatch(server, rounds=self._num_rounds or None)
            while not dispatch.over and not abort_signal.triggered:
                self._take(dispatch)
                nodes = [client.name for client in self._engine.get_clients()]
                for node, bundle in dispatch.due(nodes, _WAIT_SECONDS).items():
                    self._send(node, bundle, fl_ctx)
            self.log_info(fl_ctx, f"tacet: the last round is done; {server.round} rounds")

    def _take(self, dispatch: Dispatch) -> None:
        while True:
            try:
                node, reply = self._replies.get_nowait()
            except queue.Empty:
                return
            if reply is None:
                self.logger.warning("tacet: %s did not answer, and is asked again", node)
                dispatch.lost(node)
            else:
                dispatch.replied(node, reply)

    def _send(self, node: str, bundle: bytes, fl_ctx: FLContext) -> None:
        replies: list[Reply] = []

        def received(client_task: Any, fl_ctx: FLContext) -> None:
            reply = _reply_of(client_task.result)
            client_task.result = None
            if reply is not None:
                replies.append(reply)

        def done(task: FlareTask, fl_ctx: FLContext) -> None:
            answered = task.completion_status == TaskCompletionStatus.OK and replies
            self._replies.put((node, replies[0] if answered else None))

        data = DXO(DataKind.APP_DEFINED, data={_BUNDLE: bundle}).to_shareable()
        task = FlareTask(
            _TASK, data, timeout=_TASK_SECONDS, result_received_cb=received, task_done_cb=done
        )
        self.send(task, fl_ctx, targets=[node])


def _reply_of(result: Shareable) -> Reply | None:
    """Read a node's reply; None if it has none of tacet. Nothing else of it is looked at."""
    if result.get_return_code(default=ReturnCode.OK) != ReturnCode.OK:
        return None
    try:
        data = from_shareable(result).data
    except ValueError:
        return None
    bundle = data.get(_BUNDLE) if isinstance(data, dict) else None
    if not isinstance(bundle, bytes):
        return None
    return Reply(bundle, ended=data.get(_ENDED) is True)


# --------------------
# Job


class FedAvgRecipe(Recipe):  # type: ignore[misc]
    """Recipe in place of NVFLARE's ``FedAvgRecipe``: PyTorch scripts of the Client API.

    Rounds, cohorts, noise and the initial model are those that the members have signed. Arguments
    of NVFLARE's recipe about the model, weights, metrics or transfer are accepted and have no
    effect.

    Args:
        name: of the job.
        min_clients: clients that the job needs to begin.
        num_rounds: the agreed number; 0: whatever was agreed.
        train_script: the script of the Client API. It runs in the client's process.
        train_args: its arguments.
        socket: as of `MemberExecutor`.
        home, server_options: as of `RelayController`.
        **flare: further arguments of NVFLARE's recipe.
    """

    _format = ExchangeFormat.PYTORCH

    def __init__(
        self,
        *,
        name: str = "fedavg",
        min_clients: int,
        num_rounds: int = 0,
        train_script: str,
        train_args: str = "",
        socket: str = "",
        home: str = "",
        server_options: dict[str, Any] | None = None,
        **flare: object,
    ) -> None:
        unknown = set(flare) - _WITHOUT_EFFECT
        if unknown:
            text = f"{type(self).__name__} has no arguments {sorted(unknown)}"
            raise TypeError(text)
        job = FedJob(name=name, min_clients=min_clients)
        job.set_app_packages(["tacet"])  # each site has its own copy of the package
        job.to_server(RelayController(num_rounds, home, server_options))
        executor = MemberExecutor(train_script, train_args, self._format, socket)
        job.to_clients(executor, tasks=[_TASK])
        job.to_clients(train_script)
        super().__init__(job)


class NumpyFedAvgRecipe(FedAvgRecipe):
    """`FedAvgRecipe` for scripts whose parameters are NumPy arrays."""

    _format = ExchangeFormat.NUMPY


class SklearnFedAvgRecipe(FedAvgRecipe):
    """`FedAvgRecipe` for scripts of scikit-learn, whose parameters are arrays by name."""

    _format = ExchangeFormat.RAW


_WITHOUT_EFFECT = {
    "aggregation_weights",
    "best_model_filename",
    "initial_ckpt",
    "initial_model",
    "key_metric",
    "key_metric_mode",
    "model",
    "model_params",
    "model_path",
    "params_transfer_type",
    "server_expected_format",
}
