"""Flower's simulation runtime with its own nodes, link state and grid, and threads in place of ray.

Messages and contexts are pickled on their way to a client and back, as between processes.
"""

from __future__ import annotations

import os
import pickle
import threading
from queue import Queue
from typing import TYPE_CHECKING

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # read when flwr is imported

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

RUN, TASK = 7, 11


class ThreadBackend(Backend):
    """Runs each message's ClientApp in a thread of the runtime; the app of a node can differ."""

    def __init__(self, app_of: Callable[[int], ClientApp]) -> None:
        super().__init__({})
        self.app_of = app_of

    def build(self, app_fn: Callable[[], ClientApp]) -> None:
        """Each node has its own app."""

    num_workers = property(lambda self: 2)

    def is_worker_idle(self) -> bool:
        return True

    def terminate(self) -> None:
        """Threads end with the runtime."""

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        sent, own = pickle.loads(pickle.dumps((message, context)))
        reply = self.app_of(int(own.node_config["partition-id"]))(sent, own)
        return pickle.loads(pickle.dumps((reply, own)))


class RecordingGrid(InMemoryGrid):
    """Flower's grid, which keeps everything that the server sends and receives."""

    def __init__(self, state_factory: LinkStateFactory) -> None:
        super().__init__(state_factory=state_factory)
        self.seen = b""  # all messages, pickled before anybody takes them apart

    def send_and_receive(self, messages, *, timeout=None):
        sent = list(messages)
        self.seen += pickle.dumps(sent)
        replies = list(super().send_and_receive(sent, timeout=timeout))
        self.seen += pickle.dumps(replies)
        return replies


def run_flower(
    server_app: ServerApp, app_of: Callable[[int], ClientApp], *, nodes: int
) -> tuple[Context, RecordingGrid]:
    """Run both apps to the end; returns the server's context, and all that the server saw."""
    run = Run.create_empty(run_id=RUN)
    run.primary_task_id = TASK
    run.federation_id = NOOP_FEDERATION_ID
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = TASK, RUN, 1
    states = LinkStateFactory(FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory())
    state = states.state()
    state.run_ids[RUN] = RunRecord(run=run)
    state.task_store[TASK] = Task(task_id=TASK, run_id=RUN)
    grid = RecordingGrid(states)
    grid.set_run(run)
    mapping = vce_api._register_nodes(num_nodes=nodes, state_factory=states)
    stores = vce_api._register_node_info_stores(nodes_mapping=mapping, run=run)
    stop = threading.Event()
    context = Context(run_id=RUN, node_id=0, node_config={}, state=RecordDict(), run_config={})
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
        lambda: ThreadBackend(app_of),
        mapping,
        states,
        stores,
        stop,
        VceMetrics(),
    )
    server.join()
    if not raised.empty():
        raise raised.get()
    return context, grid
