"""Flower SecAgg+: its workflow and its client mod, joined by a grid inside one process."""

import copy
import logging
import sys
import time
from logging import getLogger

import flwr
import flwr.compat.common.recorddict_compat as compat
import numpy as np
from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.client import NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import LegacyContext, ServerConfig, SimpleClientManager
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import FedAvg
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity
from peer_measure import BOUND, report, seconds, updates, wrong_values

SHARES, THRESHOLD = 5, 3


class OwnUpdate(NumPyClient):
    """A client whose training result is given."""

    def __init__(self, update: np.ndarray):
        self.update = update

    def fit(self, parameters, config):  # noqa: ANN001, ANN201, ARG002
        return [self.update], 1, {}


def app_of(update: np.ndarray) -> ClientApp:
    """A client's app with the mod of SecAgg+."""

    # Flower reads the annotation of client_fn, so this file does not postpone annotations.
    def client_fn(context: Context):  # noqa: ANN202, ARG001
        return OwnUpdate(update).to_client()

    return ClientApp(client_fn=client_fn, mods=[secaggplus_mod])


class Proxy(ClientProxy):
    """Name of a client for the strategy; the grid carries the messages."""

    def __init__(self, node_id: int):
        super().__init__(cid=str(node_id))
        self.node_id = node_id

    def get_properties(self, *_):  # noqa: ANN002, ANN201
        raise NotImplementedError

    get_parameters = fit = evaluate = reconnect = get_properties


class InProcessGrid(Grid):
    """Delivers each message to its client at once; measures clients' time and upload bytes."""

    def __init__(self, own: np.ndarray):
        self.apps, self.contexts = {}, {}
        self.copying = 0.0
        self.seconds = dict.fromkeys(range(1, len(own) + 1), 0.0)
        self.bytes = dict.fromkeys(self.seconds, 0)
        for node, update in zip(self.seconds, own, strict=True):
            self.apps[node] = app_of(update)
            self.contexts[node] = Context(run_id=1, node_id=node, node_config={},
                                          state=RecordDict(), run_config={})

    def send_and_receive(self, messages, *, timeout=None):  # noqa: ANN001, ANN201, ARG002
        replies = []
        for message in messages:
            node = message.metadata.dst_node_id
            before = time.process_time()
            sent = copy.deepcopy(message)  # in place of a network
            self.copying += time.process_time() - before
            before = time.process_time()
            reply = self.apps[node](sent, self.contexts[node])
            self.seconds[node] += time.process_time() - before
            self.bytes[node] += sum(
                len(value) if isinstance(value, bytes) else
                sum(map(len, value)) if isinstance(value, list) and value
                and isinstance(value[0], bytes) else 8
                for record in reply.content.config_records.values() for value in record.values())
            replies.append(reply)
        return replies

    def get_node_ids(self):  # noqa: ANN201
        return list(self.apps)

    def set_run(self, *_, **__):  # noqa: ANN002, ANN003, ANN201
        raise NotImplementedError

    run = property(lambda self: None)
    create_message = push_messages = pull_messages = set_run


def main(dimension: int, clients: int, held: int) -> None:
    getLogger("flwr").setLevel(logging.ERROR)
    held = max(held, SHARES)
    TaskIdentity.task_id = TaskIdentity.run_id = 1  # a process of Flower has them
    TaskIdentity.node_id = 0
    own = updates(held, dimension)
    grid = InProcessGrid(own)
    manager = SimpleClientManager()
    for node in grid.apps:
        manager.register(Proxy(node))
    results = []

    class Keep(FedAvg):
        """Keeps what the workflow hands to a strategy."""

        def aggregate_fit(self, server_round, got, failures):  # noqa: ANN001, ANN201
            results.extend(got)
            return super().aggregate_fit(server_round, got, failures)

    strategy = Keep(fraction_fit=1.0, min_fit_clients=held, min_available_clients=held)
    context = LegacyContext(
        Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={}),
        config=ServerConfig(num_rounds=1), strategy=strategy, client_manager=manager)
    context.state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({Key.CURRENT_ROUND: 1})
    context.state.array_records[MAIN_PARAMS_RECORD] = compat.parameters_to_arrayrecord(
        ndarrays_to_parameters([np.zeros(dimension, np.float32)]), True)
    workflow = SecAggPlusWorkflow(SHARES, THRESHOLD, max_weight=1.0, clipping_range=BOUND)
    whole, _ = seconds(lambda: workflow(grid, context))
    mean = parameters_to_ndarrays(compat.arrayrecord_to_parameters(
        context.state.array_records[MAIN_PARAMS_RECORD], True))[0]
    own_seconds = sum(grid.seconds.values())
    wrong, error = wrong_values(mean * held, own.astype(float).sum(0))
    report({
        "name": "Flower SecAgg+", "version": flwr.__version__,
        "protect_s": own_seconds / held, "add_s": (whole - own_seconds - grid.copying) / held * clients,
        "decrypt_s": None, "upload_bytes": grid.bytes[1], "download_bytes": 4 * dimension,
        "wrong_values": wrong, "largest_error": error, "measured_clients": held,
        "measured_values": dimension,
        "reads_update": f"{THRESHOLD} of a client's {SHARES} neighbours with the server; the "
                        "server reads the sum",
        "drop_outs": f"{SHARES - THRESHOLD} of {SHARES} neighbours",
        "noise_inside": "no: its central DP adds noise at the server, after the sum",
        "reasons": {"decrypt_s": "the server unmasks; counted as adding",
                    "epsilon": "it reports none"},
    })


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:4]))
