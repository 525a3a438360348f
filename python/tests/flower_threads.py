"""Flower's simulation runtime with threads in place of ray.

Nodes, link state, grid and workers are
Flower's. Messages and contexts are pickled on their way to a client and back, as between processes.
"""

from __future__ import annotations

import pickle
import threading
from queue import Queue
from typing import TYPE_CHECKING, Any

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.proto.task_pb2 import Task
from flwr.server.run_serverapp import run as run_server_app
from flwr.server.superlink.fleet.vce import vce_api
from flwr.server.superlink.fleet.vce.backend.backend import Backend
from flwr.server.superlink.fleet.vce.metrics import VceMetrics
from flwr.server.superlink.linkstate import LinkStateFactory
from flwr.server.superlink.linkstate.in_memory_linkstate import RunRecord
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.federation import NoOpFederationManager
from flwr.superlink.grid import InMemoryGrid

if TYPE_CHECKING:
    from collections.abc import Callable

    from flwr.serverapp import ServerApp

__all__ = ["run_in_threads"]

_RUN, _TASK = 1, 1


class _ThreadBackend(Backend):  # type: ignore[misc]
    """Runs each message's ClientApp in a thread of the runtime."""

    def __init__(
        self, app_of: Callable[[int], ClientApp], threads: int, run_config: dict[str, Any]
    ) -> None:
        super().__init__({})
        self._run_config = run_config
        self._app_of = app_of
        self._threads = threads

    def build(self, app_fn: Callable[[], ClientApp]) -> None:
        """Nothing to build: a node's app is asked for with each message."""

    @property
    def num_workers(self) -> int:
        """Messages at a time."""
        return self._threads

    def is_worker_idle(self) -> bool:
        """Report True: the runtime has a thread for each worker."""
        return True

    def terminate(self) -> None:
        """Threads end with the runtime."""

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        """Run the app of the message's node on copies."""
        sent, own = pickle.loads(pickle.dumps((message, context)))
        seen = Context(own.run_id, own.node_id, own.node_config, own.state, self._run_config)
        reply = self._app_of(int(own.node_config["partition-id"]))(sent, seen)
        answer: tuple[Message, Context] = pickle.loads(pickle.dumps((reply, own)))
        return answer


def run_in_threads(
    server_app: ServerApp,
    client_app: ClientApp | Callable[[int], ClientApp],
    *,
    nodes: int,
    threads: int = 2,
    grid_class: type[InMemoryGrid] = InMemoryGrid,
    run_config: dict[str, Any] | None = None,
) -> Context:
    """Run both apps to the end, in this process.

    Args:
        server_app: the server's app.
        client_app: the clients' app, or a function that gives the app of a partition.
        nodes: number of clients; their configuration has ``partition-id``, 0 to ``nodes`` - 1.
        threads: clients that work at a time.
        grid_class: class of the grid that carries the messages.
        run_config: configuration of the run, for both apps.

    Returns:
        The server's context.

    Raises:
        Exception: what the server's app raised.
    """
    app_of: Any = (lambda _: client_app) if isinstance(client_app, ClientApp) else client_app
    run = Run.create_empty(run_id=_RUN)
    run.primary_task_id = _TASK
    run.federation_id = NOOP_FEDERATION_ID
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = _TASK, _RUN, 1
    states = LinkStateFactory(FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory())
    state = states.state()
    state.run_ids[_RUN] = RunRecord(run=run)
    state.task_store[_TASK] = Task(task_id=_TASK, run_id=_RUN)
    grid = grid_class(state_factory=states)
    grid.set_run(run)
    mapping = vce_api._register_nodes(num_nodes=nodes, state_factory=states)
    stores = vce_api._register_node_info_stores(nodes_mapping=mapping, run=run)
    stop = threading.Event()
    context = Context(
        run_id=_RUN, node_id=0, node_config={}, state=RecordDict(), run_config=run_config or {}
    )
    raised: Queue[BaseException] = Queue()

    def serve() -> None:
        try:
            run_server_app(
                grid=grid, context=context, server_app_dir="", loaded_server_app=server_app
            )
        except BaseException as error:
            raised.put(error)
        finally:
            stop.set()

    server = threading.Thread(target=serve)
    server.start()
    vce_api.run_api(
        lambda: app_of(0),
        lambda: _ThreadBackend(app_of, threads, run_config or {}),
        mapping,
        states,
        stores,
        stop,
        VceMetrics(),
    )
    server.join()
    if not raised.empty():
        raise raised.get()
    return context
